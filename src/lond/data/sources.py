"""The one door for data: whatever the user has -> Samples."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from lond.data.feature_views import FeaturePixels
from lond.data.options import DEFAULTS, ReadOptions, is_training, split_names
from lond.data.pixels import ArrayPixels
from lond.data.read import arrays, boxes, cifar, folders, listed, shards, tables
from lond.data.read.labels import make_samples, remap
from lond.data.squares import cut_squares, unreadable
from lond.errors import ConfigError, DataError
from lond.types import UNLABELLED, Samples

KNOWN_PATHS = (
    "a folder (of class folders, of WebDataset archives, or of a YOLO data set), a .csv, .tsv, .parquet, .npz or .tar "
    "file, or a COCO .json file"
)
KNOWN_KINDS = (
    f"the path of {KNOWN_PATHS}, Samples, (x, y) arrays, lists of files or pictures, a data frame, a torch or a "
    "Hugging Face dataset"
)


def load(
    source: object,
    split: str = "train",
    *,
    class_names: Sequence[str] | None = None,
    size: int | None = None,
    options: ReadOptions = DEFAULTS,
) -> Samples:
    """Return the images of ``source`` (or of its ``split``, if it is divided) as Samples.

    ``source`` is a folder (class folders, loose images, a CIFAR set, a saved Hugging Face dataset, WebDataset archives
    or a YOLO data set), a .csv, .tsv, .parquet, .npz or .tar file, a COCO .json file, Samples, a tuple (x, y) of
    images, embeddings ``(N, D)``, lists of files or lists of pictures of any sizes, a data frame, a torch or Hugging
    Face dataset. Of COCO and YOLO data sets, every box is cut out.
    With ``class_names`` (test data, or images to predict on) labels are mapped onto these names, and names not among
    them become ``FOREIGN``. ``size`` is the side of the squares that images are brought to; None keeps arrays as they
    are and takes the files' own size.

    Raises:
        DataError: the source is missing, malformed, of an unknown kind, or has a single class to train on.
        MissingDependencyError: an optional package is needed.

    Examples:
        >>> samples = load((np.zeros((4, 8, 8, 3), dtype=np.uint8), ["cat", "dog", "cat", "dog"]))
        >>> len(samples), samples.class_names, samples.labels.tolist()
        (4, ('cat', 'dog'), [0, 1, 0, 1])
    """
    split_names(split)
    if size is not None:
        options = replace(options, size=size)
    samples = _read(source, split, class_names, options)
    if class_names is not None:
        samples = remap(samples, class_names)
    elif is_training(split):
        _check_classes(samples)
    return _fit_array(samples, options)


def _check_classes(samples: Samples) -> None:
    """Check that at least two classes have images; files known to be unreadable, the empty ones, do not count."""
    labels = samples.labels.clone()
    labels[list(unreadable(samples.pixels))] = UNLABELLED
    used = labels[labels >= 0].unique().tolist()
    if samples.num_classes == 1 or len(used) == 1:
        name = samples.class_names[used[0] if used else 0]
        empty = " (the others hold no image)" if samples.num_classes > 1 else ""
        raise DataError(f"{samples.origin} has only one class, {name!r}{empty}; training needs at least two")


def has_split(source: object, split: str, options: ReadOptions = DEFAULTS) -> bool:
    """Return whether ``source`` itself has ``split``; a source without splits has only "train".

    Raises:
        DataError: the source is missing or unreadable.

    Examples:
        >>> images = np.zeros((2, 8, 8, 3), dtype=np.uint8)
        >>> has_split((images, ["cat", "dog"]), "train"), has_split((images, ["cat", "dog"]), "test")
        (True, False)
    """
    names = split_names(split)
    if listed.is_data_frame(source):
        return _frame_has_split(source, split, options)
    if not isinstance(source, (str, os.PathLike)):
        return _member(source, split) is not None if _is_dataset_dict(source) else is_training(split)
    path = Path(source)
    if path.is_dir():
        if cifar.find_layout(path) is not None:
            return True
        if arrays.is_saved_dataset(path):
            return has_split(arrays.load_saved_dataset(path), split, options)
        if shards.shards_in(path):
            return bool(shards.shards_of_split(path, split))
        if boxes.is_yolo(path):
            return boxes.yolo_has_split(path, split)
        return folders.find_split(path, names[0]) is not None if folders.is_divided(path) else is_training(split)
    if shards.shards_in(path) or boxes.is_coco(path):
        return is_training(split)
    if path.suffix.lower() in tables.TABLE_SUFFIXES:
        return tables.table_has_split(path, split, options)
    if path.suffix.lower() == ".npz":
        return arrays.npz_has_split(path, split)
    raise _unknown(source)


def check_apart(place: Path, source: str, option: str) -> None:
    """Check that output goes to a folder that is not read with the images of a source.

    Args:
        place: folder of the output, which need not exist yet.
        source: path of the images; "" = none.
        option: what names the folder of the output, for the message.

    Raises:
        ConfigError: the output would lie among the images.

    Examples:
        >>> check_apart(Path("audit"), "photos", "--out")
    """
    root = Path(source)
    if not source or not root.is_dir():
        return
    target, whole = place.resolve(), root.resolve()
    beside = os.path.relpath(whole.parent / (f"{whole.name}-output" if target == whole else target.name))
    advice = f"choose a folder beside it, such as {beside}"
    if target == whole:
        raise ConfigError(f"{option} {place} is the folder of the images itself; {advice}")
    # Sets of these kinds are read from files and folders with fixed names.
    is_fixed = cifar.find_layout(root) is not None or arrays.is_saved_dataset(root) or boxes.is_yolo(root)
    if not is_fixed and folders.is_read(place, root):
        raise ConfigError(f"{option} {place} lies in {source}, where it would be read with the images; {advice}")


def _read(source: object, split: str, class_names: Sequence[str] | None, options: ReadOptions) -> Samples:
    # Foreign labels are fine wherever the classes are settled already.
    meaning = "test" if class_names is not None else split
    if isinstance(source, (str, os.PathLike)):
        return _read_path(Path(source), split, class_names, options)
    if isinstance(source, Samples):
        return source
    if isinstance(source, (Tensor, np.ndarray)):
        return make_samples(ArrayPixels(source), None, class_names)
    if isinstance(source, tuple) and len(source) in (2, 3) and listed.is_list_of_paths(source[0]):
        return listed.from_paths(source[0], source[1], class_names, *source[2:], split=meaning, options=options)
    if isinstance(source, tuple) and len(source) in (2, 3) and listed.is_list_of_pictures(source[0]):
        return listed.from_pictures(source[0], source[1], class_names, *source[2:], split=meaning, options=options)
    if listed.is_list_of_paths(source):
        return listed.from_paths(_as_list(source), None, class_names, split=meaning, options=options)
    if listed.is_data_frame(source):
        return listed.from_data_frame(source, split, options, class_names)
    if isinstance(source, tuple) and len(source) in (2, 3):
        # One vector per image: embeddings in place of pixels.
        pixels = FeaturePixels(source[0]) if np.ndim(source[0]) == 2 else ArrayPixels(source[0])
        return make_samples(pixels, source[1], class_names, *source[2:], split=meaning)
    if _is_dataset_dict(source):
        source = _member(source, split)
        if source is None:
            raise DataError(f"the dataset has no split called {' or '.join(split_names(split))}")
    if _is_hugging_face(source):
        columns = options.image_column, options.label_column
        return arrays.from_hugging_face(source, *columns, class_names, split=meaning, options=options)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, (Mapping, bytes)):
        return arrays.from_dataset(source, class_names, split=meaning, options=options)
    raise _unknown(source)


def _read_path(path: Path, split: str, class_names: Sequence[str] | None, options: ReadOptions) -> Samples:
    if path.is_dir():
        if cifar.find_layout(path) is not None:
            return cifar.load_cifar(path, "train" if is_training(split) else "test")
        if arrays.is_saved_dataset(path):
            return _read(arrays.load_saved_dataset(path), split, class_names, options)
        if shards.shards_in(path):
            return shards.read_shards(path, split, options, class_names)
        if boxes.is_yolo(path):
            return boxes.read_yolo(path, split, options, class_names)
        return folders.read_folder(path, split, options)
    if shards.shards_in(path):
        return shards.read_shards(path, split, options, class_names)
    if boxes.is_coco(path):
        return boxes.read_coco(path, split, options, class_names)
    if path.suffix.lower() in tables.TABLE_SUFFIXES:
        return tables.read_table(path, split, options, class_names)
    if path.suffix.lower() == ".npz":
        return arrays.read_npz(path, split, class_names)
    # Images without labels may also be named one by one.
    raise _unknown(path, "image files, " if options.ignore_classes else "")


def _unknown(source: object, also: str = "") -> DataError:
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not path.exists():
            return DataError(f"there is no file or folder {path}; check its name, and the folder that you are in")
        return DataError(f"{path} is of no known kind; give {also}{KNOWN_PATHS}")
    return DataError(f"data may be {KNOWN_KINDS}, not {type(source).__name__}")


def _frame_has_split(frame: Any, split: str, options: ReadOptions) -> bool:
    if options.split_column not in frame.columns:
        return is_training(split)
    return any(str(value).strip().lower() in split_names(split) for value in frame[options.split_column])


def _as_list(source: Any) -> list[Any]:
    return list(source)


def _is_hugging_face(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "features")


def _is_dataset_dict(source: object) -> bool:
    return isinstance(source, Mapping) and type(source).__module__.split(".")[0] == "datasets"


def _member(source: Any, split: str) -> object | None:
    return next((source[name] for name in split_names(split) if name in source), None)


def _fit_array(samples: Samples, options: ReadOptions) -> Samples:
    """Bring images in memory to the asked size, in the same way as files."""
    size, pixels = options.size, samples.pixels
    if size is None or not isinstance(pixels, ArrayPixels) or pixels.size == (size, size):
        return samples
    squares = np.empty((len(pixels), size, size, pixels.channels), dtype=np.uint8)
    for index, image in enumerate(pixels.images.permute(0, 2, 3, 1).numpy()):
        picture = Image.fromarray(image[..., 0] if pixels.channels == 1 else image)
        squares[index] = np.asarray(cut_squares(picture, size, [(0.5, 0.5)])[0]).reshape(squares.shape[1:])
    return replace(samples, pixels=ArrayPixels(squares, layout="NHWC"))
