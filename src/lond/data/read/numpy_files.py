"""NumPy files that anyone may have made: nothing is unpickled, and no more is unfolded than a file can hold."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lond.errors import DataError

LARGE = 2**30
"""Bytes from which on an array that was compressed suspiciously well is refused."""

WELL = 100
"""Times smaller that images and features never get; what unfolds to more is made to fill the memory."""

MAPPED_FROM = 256 * 2**20
"""Bytes from which on an array that is not compressed stays in its file, and only what is needed is read."""

# What reading a hostile header or a damaged archive raises.
_UNREADABLE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OSError, EOFError, RuntimeError, NotImplementedError,
    OverflowError, MemoryError, SyntaxError, RecursionError, struct.error, tokenize.TokenError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


class NpzFile(Mapping[str, NDArray[Any]]):
    """The arrays of an ``.npz`` file by name, each read when it is asked for.

    Raises:
        DataError: there is no such file, it is no archive, or an array cannot be read.
    """

    def __init__(self, path: Path) -> None:
        """Open the archive and list its arrays."""
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except _UNREADABLE as error:
            raise DataError(
                f"{path} is not a readable .npz file ({_short(error)}); "
                "make one with numpy.savez(path, x=images, y=labels)"
            ) from error
        members = [member for member in self._archive.infolist() if member.filename.endswith(".npy")]
        self._members = {member.filename.removesuffix(".npy"): member for member in members}

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array."""
        member, where = self._members[name], f"{self.path} holds an array {name[:80]!r} that"
        if member.file_size > max(LARGE, WELL * member.compress_size):
            raise DataError(
                f"{where} unfolds from {_amount(member.compress_size)} to {_amount(member.file_size)}; "
                "if you trust it, save it again with numpy.savez"
            )
        try:
            if member.file_size >= MAPPED_FROM and member.compress_type == zipfile.ZIP_STORED:
                return _mapped(self.path, _start_of(self.path, member), member.file_size)
            with self._archive.open(member) as file:
                return _array(cast(BinaryIO, file), member.file_size)
        except _UNREADABLE as error:
            raise DataError(f"{where} cannot be read ({_short(error)}); save numbers or text only") from error

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._members)

    def __enter__(self) -> Self:
        """Return the file itself, to be closed in the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._archive.close()


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array of an ``.npy`` file.

    Raises:
        DataError: it cannot be read.
    """
    try:
        length = path.stat().st_size
        if length >= MAPPED_FROM:
            return _mapped(path, 0, length)
        with path.open("rb") as file:
            return _array(file, length)
    except _UNREADABLE as error:
        raise DataError(f"{path} is not a readable .npy file ({_short(error)}); save numbers or text only") from error


def _array(file: BinaryIO, length: int) -> NDArray[Any]:
    """Read an array of ``length`` bytes, header included; one whose header claims more is refused beforehand."""
    shape, in_columns, kind = _checked_header(file, length)
    claimed = math.prod(shape) * kind.itemsize
    content = bytearray(claimed)
    view, done = memoryview(content), 0
    while done < claimed:
        part = file.read(min(claimed - done, 2**24))
        if not part:
            raise EOFError(f"it ends after {_amount(done)}")
        view[done : done + len(part)] = part
        done += len(part)
    # The check sum of an archive is compared at its very end.
    file.read(1)
    order = "F" if in_columns else "C"
    array: NDArray[Any] = np.frombuffer(content, dtype=kind).reshape(shape, order=order)  # type: ignore[call-overload]
    return array


def _mapped(path: Path, start: int, length: int) -> NDArray[Any]:
    """Return the array that lies in a file, from ``start`` on, without reading it; changes stay in memory."""
    with path.open("rb") as file:
        file.seek(start)
        shape, in_columns, kind = _checked_header(file, start + length)
        order: Any = "F" if in_columns else "C"
        return np.memmap(path, dtype=kind, mode="c", offset=file.tell(), shape=shape, order=order)


def _start_of(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where the content of a stored member begins: after its own header, whose names may differ in length."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(30)
    if header[:4] != b"PK\x03\x04":
        raise ValueError("its header is damaged")
    name, extra = struct.unpack("<HH", header[26:30])
    return int(member.header_offset + 30 + name + extra)


def _checked_header(file: BinaryIO, end: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array that ends at ``end``; one whose header claims more is refused."""
    shape, in_columns, kind = _header(file)
    if kind.hasobject:
        raise ValueError("it holds Python objects, which could run anything")
    claimed, held = math.prod(shape) * kind.itemsize, end - file.tell()
    if min(shape, default=0) < 0 or claimed != held:
        raise ValueError(f"it claims {_amount(claimed)} and holds {_amount(held)}")
    return shape, in_columns, kind


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its version is {version}")
    shape, in_columns, kind = readers[version](file)
    return shape, in_columns, kind


def _amount(count: int) -> str:
    """Return a number of bytes in words."""
    size, units = float(count), ("bytes", "kB", "MB", "GB", "TB")
    for unit in units[:-1]:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} {units[-1]}"


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:150] or type(error).__name__
