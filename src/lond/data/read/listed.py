"""Lists of files or of pictures of any sizes, and data frames, as Samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from lond.data.options import DEFAULTS, ReadOptions
from lond.data.read.adapters import from_dataset
from lond.data.read.files import open_files, relative_name
from lond.data.read.labels import make_samples
from lond.data.read.tables import TableColumns, samples_of_table
from lond.errors import DataError
from lond.types import Samples


def is_list_of_paths(values: object) -> bool:
    """Tell whether something is a list (or array) of the paths of files."""
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.ndim == 1 and values.dtype.kind in "UO" else None
    return isinstance(values, list | tuple) and bool(values) and all(isinstance(v, str | os.PathLike) for v in values)


def is_list_of_pictures(values: object) -> bool:
    """Tell whether something is a list of PIL images, arrays or tensors, which may differ in size."""
    kinds = (Image.Image, np.ndarray, Tensor)
    return isinstance(values, list | tuple) and bool(values) and all(isinstance(value, kinds) for value in values)


def is_data_frame(source: object) -> bool:
    """Tell whether something is a data frame of pandas or polars."""
    return type(source).__module__.split(".")[0] in ("pandas", "polars") and hasattr(source, "columns")


def from_paths(
    paths: Sequence[str | os.PathLike[str]],
    labels: object = None,
    class_names: Sequence[str] | None = None,
    true_labels: object = None,
    *,
    split: str = "train",
    options: ReadOptions = DEFAULTS,
) -> Samples:
    """Return image files and their labels as Samples; ids are the paths, relative to ``options.root`` if it is given.

    Raises:
        DataError: a file is missing, or there are not as many labels as files.
    """
    root = Path(options.root) if options.root is not None else None
    files = [Path(path) if root is None else root / path for path in paths]
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise DataError(f"{len(missing)} of {len(files)} files do not exist, among them {missing[0]}")
    pixels = open_files(files, root or Path(os.path.commonpath([file.parent.absolute() for file in files])), options)
    samples = make_samples(pixels, labels, class_names, true_labels, split=split, origin="list of files")
    ids = [relative_name(file, root) for file in files]
    return replace(samples, ids=tuple(f"{name}#{at}" if name in ids[:at] else name for at, name in enumerate(ids)))


def from_pictures(
    pictures: Sequence[Any],
    labels: object = None,
    class_names: Sequence[str] | None = None,
    true_labels: object = None,
    *,
    split: str = "train",
    options: ReadOptions = DEFAULTS,
) -> Samples:
    """Return PIL images, arrays or tensors of any sizes and their labels as Samples, cut to squares of one size."""
    if options.size is None:
        sides = [
            min(picture.size) if isinstance(picture, Image.Image) else _short_side(picture) for picture in pictures
        ]
        options = replace(options, size=min(224, int(np.median(sides))))
    pixels = from_dataset([(picture, None) for picture in pictures], ("",), split="test", options=options).pixels
    return make_samples(pixels, labels, class_names, true_labels, split=split)


def from_data_frame(
    frame: Any, split: str = "train", options: ReadOptions = DEFAULTS, class_names: Sequence[str] | None = None
) -> Samples:
    """Return the images that a data frame lists, by the columns named in ``options``; paths are as in a table.

    Raises:
        DataError: a column is missing, or no row is usable.
    """
    columns: TableColumns = {str(name): list(frame[name]) for name in frame.columns}
    root = Path(options.root) if options.root is not None else Path()
    return samples_of_table(Path("data frame"), columns, root, split, options, class_names)


def _short_side(picture: Any) -> int:
    shape = tuple(picture.shape)
    if len(shape) < 2:
        raise DataError(f"a picture must have two or three dimensions, not the shape {shape}")
    # The colours are the first or the last of three dimensions.
    return int(min(shape) if len(shape) == 2 else min(shape[1:] if shape[0] in (1, 3) else shape[:2]))
