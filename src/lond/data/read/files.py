"""Pixels that live in image files."""

from __future__ import annotations

import hashlib
import os
import re
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

from lond.data.images import MAX_PIXELS, EncodedImage, check_file, read_bytes, short_side
from lond.data.options import ReadOptions
from lond.data.pixels import ArrayPixels, short_hash
from lond.data.squares import SquarePixels, default_workers
from lond.errors import DataError, counted
from lond.types import Pixels, Request

HEAD_BYTES = 64 * 1024
LARGEST_GUESS = 224
_SIZE_PROBES = 33
_ODD_BYTE = re.compile(r"\\(?:x|udc)([89a-f][0-9a-f])")

Progress = Callable[[int, int], None]
"""Called with (images done, images in all)."""


@dataclass(frozen=True)
class _FileStore:
    paths: tuple[str, ...]
    max_pixels: int

    def __len__(self) -> int:
        return len(self.paths)

    def open(self, index: int) -> EncodedImage:
        return EncodedImage(read_bytes(self.paths[index]), self.max_pixels)


class FilePixels(SquarePixels):
    """Squares of one size cut out of image files; an unreadable file gives mid-grey and a row in ``problems``."""

    opens_in_threads = True

    def __init__(
        self,
        paths: Sequence[str | Path],
        size: int,
        *,
        channels: int = 3,
        num_workers: int | None = None,
        max_pixels: int = MAX_PIXELS,
        root: str | Path | None = None,
    ) -> None:
        """Read ``paths`` as squares of side ``size``; names in reports and hashes are relative to ``root``."""
        self.paths = tuple(str(path) for path in paths)
        self.root = None if root is None else str(root)
        workers = default_workers() if num_workers is None else num_workers
        super().__init__(_FileStore(self.paths, max_pixels), size, channels, workers)

    def name(self, index: int) -> str:
        """Return the path of one file relative to the root."""
        return relative_name(self.paths[index], self.root)

    def _compute_fingerprint(self) -> str:
        """Hash names, lengths and the first bytes, which is quick; ``contents_hash`` reads the files whole."""
        digest = hashlib.sha256()
        for index, path in enumerate(self.paths):
            digest.update(f"{self.name(index)}\n{_file_state(path)}\n".encode())
        return short_hash(str((len(self), self.size, self.channels)), digest.digest())


def lies_outside(path: str | Path, root: str | Path) -> bool:
    """Tell whether a path leads out of a folder."""
    return os.path.relpath(path, root).split(os.sep)[0] == os.pardir


def relative_name(path: str | Path, root: str | Path | None) -> str:
    r"""Return a path below ``root`` with forward slashes, as text that any encoding can hold.

    Bytes that are not UTF-8 are written ``\xXX``; ``with_odd_bytes`` brings them back.
    """
    text = str(path)
    if root is not None:
        # A file elsewhere keeps its own path rather than a chain of dots.
        text = text if lies_outside(path, root) else os.path.relpath(text, root)
    return text.replace(os.sep, "/").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def with_odd_bytes(name: str) -> str:
    r"""Return the path that ``relative_name`` was given, if its ``\xXX`` stand for bytes that are not UTF-8."""
    return _ODD_BYTE.sub(lambda found: chr(int(f"dc{found[1]}", 16)), name)


def _file_state(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return f"{os.fstat(file.fileno()).st_size} {hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()}"
    except (OSError, ValueError):
        return "missing"


def contents_hash(pixels: Pixels) -> str | None:
    """Return a short hash of all bytes of the files that pixels come from; None if they come from no files."""
    base: Pixels | None = getattr(pixels, "base", None)
    if base is not None:
        return contents_hash(base)
    if not isinstance(pixels, FilePixels):
        return None
    # Hashing and reading both let other threads run.
    with ThreadPoolExecutor(max(1, pixels.num_workers)) as threads:
        return short_hash(*threads.map(_file_hash, pixels.paths))


def _file_hash(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return b"missing"


def guess_size(paths: Sequence[str | Path]) -> int:
    """Return the median short side of some files spread over ``paths``, at most 224.

    Raises:
        DataError: no file is an image.
    """
    step = max(1, len(paths) // _SIZE_PROBES)
    sides = [side for side in map(short_side, paths[::step]) if side]
    # Where many files are damaged, the first good one must do.
    sides = sides or list(islice(filter(None, map(short_side, paths)), 1))
    if not sides:
        why = f"{paths[0]}: {check_file(paths[0])}"
        raise DataError(f"no image can be read from {counted(len(paths), 'file')}; check {why}")
    return min(LARGEST_GUESS, int(statistics.median_low(sides)))


def open_files(paths: Sequence[str | Path], root: str | Path, options: ReadOptions) -> FilePixels:
    """Return the pixels of image files below ``root``, of the size asked or guessed."""
    return FilePixels(
        paths,
        options.size or guess_size(paths),
        channels=options.channels,
        num_workers=options.num_workers,
        max_pixels=options.max_pixels,
        root=root,
    )


@dataclass(frozen=True)
class _FileChecks(Dataset[str | None]):
    paths: Sequence[str | Path]
    max_pixels: int

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> str | None:
        return check_file(self.paths[index], max_pixels=self.max_pixels)


def check_files(
    paths: Sequence[str | Path],
    *,
    num_workers: int | None = None,
    max_pixels: int = MAX_PIXELS,
    progress: Progress | None = None,
) -> dict[int, str]:
    """Decode every file fully and return index -> reason for those that cannot be."""
    workers = min(default_workers() if num_workers is None else num_workers, len(paths) // 64)
    loader: DataLoader[str | None] = DataLoader(
        _FileChecks(paths, max_pixels), batch_size=None, num_workers=workers, generator=torch.Generator()
    )
    reasons = {}
    for index, reason in enumerate(loader):
        if reason is not None:
            reasons[index] = reason
        if progress is not None:
            progress(index + 1, len(paths))
    return reasons


def load_into_memory(pixels: Pixels, progress: Progress | None = None, *, batch_size: int = 256) -> ArrayPixels:
    """Return the centre squares of all images as one array; problems stay listed in ``pixels``."""
    height, width = pixels.size
    images = torch.empty((len(pixels), pixels.channels, height, width), dtype=torch.uint8)
    starts = range(0, len(pixels), batch_size)
    requests = [Request(torch.arange(start, min(start + batch_size, len(pixels)))) for start in starts]
    done = 0
    for batch in pixels.stream(requests):
        images[done : done + batch.shape[1]] = batch[0]
        done += batch.shape[1]
        if progress is not None:
            progress(done, len(pixels))
    return ArrayPixels(images, layout="NCHW")
