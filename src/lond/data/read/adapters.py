"""Datasets of other libraries (torch, Hugging Face) as Samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import Subset

from lond.data.options import DEFAULTS, ReadOptions, optional_import
from lond.data.read.labels import make_samples
from lond.data.read.wrapped import READ_ERRORS, DatasetPixels, IndexableDataset
from lond.errors import DataError
from lond.types import FOREIGN, UNLABELLED, Samples

_NEEDS_DATASETS = "Hugging Face datasets need: pip install 'lond[hf]'"


def _dataset_labels(dataset: Any) -> list[object]:
    """Return the labels of a torch dataset, without decoding its images where it lists them."""
    if isinstance(dataset, Subset):
        base = _listed_labels(dataset.dataset)
        if base is not None:
            return [base[index] for index in dataset.indices]
    listed = _listed_labels(dataset)
    if listed is not None:
        return listed
    return [_label_of_item(dataset, index) for index in range(len(dataset))]


def _label_of_item(dataset: Any, index: int) -> object:
    try:
        item = dataset[index]
    except READ_ERRORS:
        return None
    return item[1] if isinstance(item, Sequence) and len(item) > 1 else None


def _listed_labels(dataset: Any) -> list[object] | None:
    for name in ("targets", "labels"):
        values = getattr(dataset, name, None)
        if isinstance(values, Iterable) and not isinstance(values, str):
            listed = [value.item() if isinstance(value, (np.generic, Tensor)) else value for value in values]
            if len(listed) == len(dataset):
                return listed
    return None


def from_dataset(
    dataset: IndexableDataset,
    class_names: Sequence[str] | None = None,
    *,
    split: str = "train",
    options: ReadOptions = DEFAULTS,
) -> Samples:
    """Return a torch ``Dataset`` (or anything indexable) of (image, label) items as Samples.

    Labels come from its ``targets`` or ``labels`` if it has them, class names from its ``classes``. Give it without
    random transforms: the views are made later.

    Raises:
        DataError: the dataset is empty or gives no images.
    """
    pixels = DatasetPixels(
        dataset,
        options.size,
        channels=options.channels,
        num_workers=options.num_workers or 0,
        max_pixels=options.max_pixels,
    )
    base = dataset.dataset if isinstance(dataset, Subset) else dataset
    classes = getattr(base, "classes", None)
    names, positions = class_names, None
    if isinstance(classes, (list, tuple)) and classes:
        names, positions = [str(name) for name in classes], True
    labels = _dataset_labels(dataset)
    return make_samples(pixels, labels, names, split=split, origin=type(dataset).__name__, positions=positions)


def is_saved_dataset(folder: Path) -> bool:
    """Tell whether a folder was written by ``save_to_disk`` of Hugging Face's ``datasets``."""
    return (folder / "dataset_dict.json").is_file() or (
        (folder / "dataset_info.json").is_file() and (folder / "state.json").is_file()
    )


def load_saved_dataset(folder: Path) -> Any:
    """Return the ``Dataset`` or ``DatasetDict`` in a folder that ``save_to_disk`` wrote.

    Raises:
        DataError: the folder is damaged.
        MissingDependencyError: ``datasets`` is not installed.
    """
    library = optional_import("datasets", _NEEDS_DATASETS)
    try:
        return library.load_from_disk(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} looks like a saved Hugging Face dataset but cannot be read: {error}") from error


def from_hugging_face(
    dataset: Any,
    image_column: str = "image",
    label_column: str = "label",
    class_names: Sequence[str] | None = None,
    *,
    split: str = "train",
    options: ReadOptions = DEFAULTS,
) -> Samples:
    """Return a Hugging Face ``datasets.Dataset`` as Samples; class names come from its ClassLabel feature.

    A ClassLabel of -1 means that the label is missing, as that library has it. The column ``options.id_column`` names
    the images if there is one.

    Raises:
        DataError: a column is missing.
        MissingDependencyError: ``datasets`` is not installed.
    """
    class_label = optional_import("datasets", _NEEDS_DATASETS).ClassLabel
    for column in (image_column, label_column):
        if column not in dataset.column_names and not (column == label_column and class_names is not None):
            raise DataError(f"the dataset has no column {column!r}; it has {', '.join(dataset.column_names)}")
    labels = list(dataset[label_column]) if label_column in dataset.column_names else None
    feature, positions = dataset.features.get(label_column), None
    if isinstance(feature, class_label):
        class_names, positions = list(feature.names), True
        labels = None if labels is None else [UNLABELLED if label == FOREIGN else label for label in labels]
    pixels = DatasetPixels(
        dataset,
        options.size,
        channels=options.channels,
        image_key=image_column,
        num_workers=options.num_workers or 0,
        max_pixels=options.max_pixels,
    )
    samples = make_samples(pixels, labels, class_names, split=split, origin="Hugging Face dataset", positions=positions)
    if options.id_column not in dataset.column_names:
        return samples
    return replace(samples, ids=_distinct_ids(dataset[options.id_column]))


def _distinct_ids(values: Iterable[object]) -> tuple[str, ...]:
    """Return the ids of a column as text; rows without one get their number, and repeated ones a number behind them."""
    seen: dict[str, None] = {}
    for number, value in enumerate(values):
        name = str(number) if value is None or value == "" else str(value)
        while name in seen:
            name += f"#{number}"
        seen[name] = None
    return tuple(seen)
