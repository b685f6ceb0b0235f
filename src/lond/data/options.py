"""Options for reading a source, the same for all kinds of sources."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lond.data.images import MAX_PIXELS
from lond.errors import DataError, MissingDependencyError

SPLIT_NAMES: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "test": ("test", "val", "valid", "validation", "testing"),
}
"""Split -> names that folders, columns and datasets use for it, the preferred one first."""


@dataclass(frozen=True)
class ReadOptions:
    """Settings for reading images.

    Attributes:
        size: side of the squares; None takes the images' own (files: median short side, at most 224).
        channels: 3 for colour, 1 for grey.
        num_workers: processes, or threads besides this one, that decode files; None chooses, 0 stays in this thread.
        ignore_classes: take every image below a folder, without labels, whatever folders it lies in.
        verify: decode every file once beforehand and leave out the unreadable ones.
        max_pixels: largest picture that is decoded.
        path_column: column of a table with the path of the image file.
        label_column: column of a table or Hugging Face dataset with the given label.
        true_label_column: optional column with the true label.
        split_column: optional column that says which split a row belongs to.
        id_column: optional column of a table or Hugging Face dataset with the id of a row.
        image_column: column of a Hugging Face dataset with the image.
        root: folder that the paths of a table are relative to; None is the table's own.

    Examples:
        >>> ReadOptions(size=64, label_column="species").channels
        3
    """

    size: int | None = None
    channels: int = 3
    num_workers: int | None = None
    ignore_classes: bool = False
    verify: bool = False
    max_pixels: int = MAX_PIXELS
    path_column: str = "path"
    label_column: str = "label"
    true_label_column: str = "true_label"
    split_column: str = "split"
    id_column: str = "id"
    image_column: str = "image"
    root: str | Path | None = None


DEFAULTS = ReadOptions()


def optional_import(name: str, message: str) -> Any:
    """Return a module that may not be installed.

    Raises:
        MissingDependencyError: with ``message``, which says what to install.

    Examples:
        >>> optional_import("no_such_package", "install no_such_package")
        Traceback (most recent call last):
        ...
        lond.errors.MissingDependencyError: install no_such_package
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(message) from error


def split_names(split: str) -> tuple[str, ...]:
    """Return the common names of ``split``, "train" or "test" (also under its other names).

    Raises:
        DataError: the split is unknown.

    Examples:
        >>> split_names("test")
        ('test', 'val', 'valid', 'validation', 'testing')
    """
    for names in SPLIT_NAMES.values():
        if split in names:
            return (split, *(name for name in names if name != split))
    raise DataError(f"unknown split {split!r}; known: {', '.join(SPLIT_NAMES)}")


def is_training(split: str) -> bool:
    """Return whether a split is a training split.

    Examples:
        >>> is_training("train"), is_training("val")
        (True, False)
    """
    return split in SPLIT_NAMES["train"]
