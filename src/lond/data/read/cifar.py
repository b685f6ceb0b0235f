"""CIFAR-10 and CIFAR-100 from their standard pickle folders, read without trusting the pickles."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lond.data.pixels import ArrayPixels
from lond.errors import DataError
from lond.types import Samples

CIFAR_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"


class CifarImages(NamedTuple):
    """One split: ``images`` is ``(N, 3, 32, 32)`` uint8, ``labels`` ``(N,)`` int64, one name per class."""

    images: Tensor
    labels: Tensor
    class_names: tuple[str, ...]


@dataclass(frozen=True)
class CifarLayout:
    """Where one CIFAR set keeps its files and keys."""

    archive: str
    folder: str
    splits: Mapping[str, tuple[str, ...]]
    labels_key: str
    meta_file: str
    names_key: str


CIFAR100 = CifarLayout(
    archive="cifar-100-python.tar.gz",
    folder="cifar-100-python",
    splits={"train": ("train",), "test": ("test",)},
    labels_key="fine_labels",
    meta_file="meta",
    names_key="fine_label_names",
)
CIFAR10 = CifarLayout(
    archive="cifar-10-python.tar.gz",
    folder="cifar-10-batches-py",
    splits={"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)},
    labels_key="labels",
    meta_file="batches.meta",
    names_key="label_names",
)


def _latin1_bytes(text: str, encoding: str) -> bytes:
    """Stand in for ``_codecs.encode``, which Python 3 writes for bytes in old pickle protocols."""
    if encoding != "latin1":
        raise DataError(f"the pickle asks for the codec {encoding!r}; CIFAR files never do")
    return text.encode("latin1")


def _allowed_globals() -> dict[tuple[str, str], object]:
    sample = np.empty(0, dtype=np.uint8)
    reconstruct, from_buffer = sample.__reduce__()[0], sample.__reduce_ex__(5)[0]
    allowed: dict[tuple[str, str], object] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("_codecs", "encode"): _latin1_bytes,
    }
    for package in ("numpy.core", "numpy._core"):
        allowed[f"{package}.multiarray", "_reconstruct"] = reconstruct
        allowed[f"{package}.numeric", "_frombuffer"] = from_buffer
    return allowed


class RestrictedUnpickler(pickle.Unpickler):
    """Unpickles dicts, lists, text, bytes, numbers and NumPy arrays; refuses every other global."""

    _allowed = _allowed_globals()

    def __init__(self, file: BinaryIO) -> None:
        """Read from ``file``, taking the byte strings of Python 2 as Latin-1."""
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> object:
        """Return an allowed global.

        Raises:
            DataError: the pickle asks for anything else.
        """
        try:
            return self._allowed[module, name]
        except KeyError:
            raise DataError(
                f"the pickle asks for the forbidden global {module}.{name}; a genuine CIFAR file never does. "
                f"Download it anew from {CIFAR_PAGE}"
            ) from None


def read_pickle(path: Path) -> dict[str, object]:
    """Return the dict held in a CIFAR pickle, with text keys.

    Raises:
        DataError: the file is missing, damaged or holds anything a CIFAR file does not.
    """
    try:
        with path.open("rb") as file:
            content = RestrictedUnpickler(file).load()
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except Exception as error:  # damaged pickles raise nearly anything
        told = " ".join(str(error).split())[:200]
        raise DataError(f"{path} is not a readable CIFAR file ({type(error).__name__}: {told})") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds a {type(content).__name__}, not the dict of a CIFAR file")
    return {key.decode("latin1") if isinstance(key, bytes) else str(key): value for key, value in content.items()}


def find_folder(root: str | Path, layout: CifarLayout) -> Path | None:
    """Return ROOT or ROOT/<standard folder>, whichever holds the files of ``layout``, or None."""
    needed = (layout.meta_file, *(name for names in layout.splits.values() for name in names))
    for folder in (Path(root), Path(root) / layout.folder):
        if all((folder / name).is_file() for name in needed):
            return folder
    return None


def find_layout(root: str | Path) -> CifarLayout | None:
    """Return the CIFAR set in ``root``, or None."""
    return next((layout for layout in (CIFAR100, CIFAR10) if find_folder(root, layout) is not None), None)


def _images(path: Path, data: object) -> Tensor:
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise DataError(f"{path}: 'data' must be a uint8 array of shape (N, 3072)")
    return torch.from_numpy(data.reshape(-1, 3, 32, 32).copy())


def _labels(path: Path, labels: object, num_images: int, num_classes: int) -> Tensor:
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    if not isinstance(labels, list) or not all(isinstance(label, int) and 0 <= label < num_classes for label in labels):
        raise DataError(f"{path}: the labels must be a list of numbers in 0..{num_classes - 1}")
    if len(labels) != num_images:
        raise DataError(f"{path}: {num_images} images but {len(labels)} labels")
    return torch.tensor(labels, dtype=torch.int64)


def _names(path: Path, names: object) -> tuple[str, ...]:
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise DataError(f"{path}: the class names are missing")
    return tuple(name.decode("latin1") if isinstance(name, bytes) else str(name) for name in names)


def _read(root: str | Path, split: str, layout: CifarLayout) -> CifarImages:
    if split not in layout.splits:
        raise DataError(f"unknown CIFAR split {split!r}; known: {', '.join(layout.splits)}")
    folder = find_folder(root, layout)
    if folder is None:
        raise DataError(
            f"no {layout.folder} in {root}: download {layout.archive} from {CIFAR_PAGE} and unpack it into {root}, "
            f"so that {Path(root) / layout.folder / layout.meta_file} exists"
        )
    meta = folder / layout.meta_file
    class_names = _names(meta, read_pickle(meta).get(layout.names_key))
    images, labels = [], []
    for name in layout.splits[split]:
        content = read_pickle(folder / name)
        images.append(_images(folder / name, content.get("data")))
        labels.append(_labels(folder / name, content.get(layout.labels_key), len(images[-1]), len(class_names)))
    return CifarImages(torch.cat(images), torch.cat(labels), class_names)


def read_cifar100(root: str | Path, split: str = "train") -> CifarImages:
    """Return a split of CIFAR-100 with its fine labels; ``root`` is cifar-100-python or the folder above it.

    Raises:
        DataError: the files are missing or damaged.
    """
    return _read(root, split, CIFAR100)


def read_cifar10(root: str | Path, split: str = "train") -> CifarImages:
    """Return a split of CIFAR-10; ``root`` is cifar-10-batches-py or the folder above it.

    Raises:
        DataError: the files are missing or damaged.
    """
    return _read(root, split, CIFAR10)


def load_cifar(root: str | Path, split: str = "train") -> Samples:
    """Return a split of the CIFAR set in ``root``; ids are ``split/number``.

    Raises:
        DataError: the files are missing or damaged.
    """
    images, labels, class_names = _read(root, split, find_layout(root) or CIFAR100)
    ids = tuple(f"{split}/{index:05d}" for index in range(len(labels)))
    return Samples(ArrayPixels(images, layout="NCHW"), labels, class_names, ids, origin=str(root))
