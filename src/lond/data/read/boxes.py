"""Data sets of boxes (COCO and YOLO) as Samples: every box is cropped and becomes an image."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from lond.data.images import IMAGE_SUFFIXES, EncodedImage, PictureExtent, UnreadableImage, read_bytes
from lond.data.options import DEFAULTS, ReadOptions, optional_import, split_names
from lond.data.read.stored import stored_samples
from lond.errors import DataError
from lond.io.json_files import read_json
from lond.types import Problem, Samples

Box = tuple[float, float, float, float]
"""Left, top, right and bottom: pixels, or shares of the picture's sides if all are at most 1 and ``shares`` says so."""


@dataclass(frozen=True)
class _Cut:
    whole: EncodedImage
    box: Box
    shares: bool

    def _pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        scales = (width, height, width, height) if self.shares else (1, 1, 1, 1)
        left, top, right, bottom = (side * scale for side, scale in zip(self.box, scales, strict=True))
        box = max(0, int(left)), max(0, int(top)), min(width, round(right)), min(height, round(bottom))
        if box[2] <= box[0] or box[3] <= box[1]:
            raise UnreadableImage(f"the box {self.box} has no area inside the picture of {width} x {height} pixels")
        return box

    def content_hash(self) -> None:
        return None

    def extent(self) -> PictureExtent:
        whole = self.whole.extent()
        left, top, right, bottom = self._pixels(whole.width, whole.height)
        return PictureExtent(right - left, bottom - top)

    def picture(self, min_side: int, /) -> Image.Image:
        # Boxes are given in pixels of the whole picture, so it is decoded at its full size.
        picture = self.whole.picture()
        return picture.crop(self._pixels(*picture.size))


@dataclass(frozen=True)
class _BoxStore:
    paths: tuple[str, ...]
    boxes: tuple[Box, ...]
    names: tuple[str, ...]
    shares: bool
    max_pixels: int

    def __len__(self) -> int:
        return len(self.boxes)

    def open(self, index: int) -> _Cut:
        return _Cut(EncodedImage(read_bytes(self.paths[index]), self.max_pixels), self.boxes[index], self.shares)

    def state(self) -> bytes:
        sizes = {path: os.stat(path).st_size for path in dict.fromkeys(self.paths)}
        return repr((sorted(sizes.values()), self.names, self.boxes)).encode()


@dataclass(frozen=True)
class _Found:
    path: Path
    name: str
    box: Box
    label: object


def is_coco(path: Path) -> bool:
    """Tell whether a file is called like a COCO file of annotations."""
    return path.suffix.lower() == ".json" and path.is_file()


def read_coco(
    path: Path, split: str = "train", options: ReadOptions = DEFAULTS, class_names: Sequence[str] | None = None
) -> Samples:
    """Return the boxes of a COCO file of annotations as images; ids are the file's name and the annotation's id.

    The pictures are looked for below ``options.root``, or the file's own folder.

    Raises:
        DataError: the file is not one of annotations, or no picture is found.
    """
    content = read_json(path)
    parts = {name: content.get(name) for name in ("images", "annotations", "categories")}
    if not all(isinstance(part, list) for part in parts.values()):
        raise DataError(f"{path} is no COCO file: it must hold the lists images, annotations and categories")
    root = Path(options.root) if options.root is not None else path.parent
    try:
        files = {image["id"]: str(image["file_name"]) for image in parts["images"] or ()}
        classes = {each["id"]: str(each["name"]) for each in parts["categories"] or ()}
        found = [_coco_box(entry, files, classes, root) for entry in parts["annotations"] or ()]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is no COCO file of boxes: {type(error).__name__} {error}") from error
    return _cut_out(found, options, split, class_names, str(path), shares=False)


def _coco_box(entry: Mapping[str, Any], files: Mapping[Any, str], classes: Mapping[Any, str], root: Path) -> _Found:
    left, top, width, height = (float(value) for value in entry["bbox"])
    name = files[entry["image_id"]]
    box = (left, top, left + width, top + height)
    return _Found(root / name, f"{name}#{entry['id']}", box, classes[entry["category_id"]])


def is_yolo(folder: Path) -> bool:
    """Tell whether a folder holds a YOLO data set: a description with class names, and folders images and labels."""
    return _description(folder) is not None and any((folder / part).is_dir() for part in ("images", "train"))


def yolo_has_split(folder: Path, split: str) -> bool:
    """Tell whether a YOLO data set has labels of a split."""
    return next(iter(_label_files(folder, split)), None) is not None


def read_yolo(
    folder: Path, split: str = "train", options: ReadOptions = DEFAULTS, class_names: Sequence[str] | None = None
) -> Samples:
    """Return the boxes of a YOLO data set as images; ids are the picture's path and the number of the line.

    Known are ``images/<split>`` beside ``labels/<split>`` and ``<split>/images`` beside ``<split>/labels``. The class
    names stand in the description, ``data.yaml`` or another ``.yaml`` file.

    Raises:
        DataError: the description or a label file cannot be read, or no picture is found.
    """
    names = _class_names(folder)
    found = []
    for labels, pictures in _label_files(folder, split):
        picture = next((path for path in sorted(pictures.glob(f"{_literal(labels.stem)}.*")) if _is_image(path)), None)
        where = picture or pictures / labels.stem
        shown = where.relative_to(folder).as_posix()
        for number, line in enumerate(labels.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                found.append(_yolo_box(line, where, f"{shown}#{number}", names, labels))
    return _cut_out(found, options, split, class_names, str(folder), shares=True)


def _yolo_box(line: str, picture: Path, name: str, names: Mapping[int, str], labels: Path) -> _Found:
    try:
        number, *values = line.split()
        x, y, width, height = (float(value) for value in values[:4])
        label = names[int(number)]
    except (ValueError, KeyError) as error:
        raise DataError(f"{labels}: {line[:80]!r} is no box (class x y width height, of a named class)") from error
    return _Found(picture, name, (x - width / 2, y - height / 2, x + width / 2, y + height / 2), label)


def _label_files(folder: Path, split: str) -> Iterator[tuple[Path, Path]]:
    """Yield the label files of a split, each with the folder of its picture."""
    for name in split_names(split):
        pairs = (
            (folder / "labels" / name, folder / "images" / name),
            (folder / name / "labels", folder / name / "images"),
        )
        for labels, pictures in pairs:
            if labels.is_dir():
                for file in sorted(labels.glob("*.txt")):
                    yield file, pictures
                return


def _description(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    files = sorted((*folder.glob("*.yaml"), *folder.glob("*.yml")), key=lambda path: (path.stem != "data", path.name))
    return files[0] if files else None


def _class_names(folder: Path) -> dict[int, str]:
    path = _description(folder)
    yaml = optional_import("yaml", "YOLO data sets need PyYAML: pip install pyyaml")
    try:
        names = yaml.safe_load(path.read_text(encoding="utf-8"))["names"] if path else None
    except (yaml.YAMLError, KeyError, TypeError, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} has no readable class names under 'names'") from error
    pairs = names.items() if isinstance(names, dict) else enumerate(names or ())
    return {int(number): str(name) for number, name in pairs}


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in IMAGE_SUFFIXES


def _literal(name: str) -> str:
    """Return a name in which the signs of a pattern stand for themselves."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _cut_out(
    found: Sequence[_Found],
    options: ReadOptions,
    split: str,
    class_names: Sequence[str] | None,
    origin: str,
    *,
    shares: bool,
) -> Samples:
    there = {path: path.is_file() for path in dict.fromkeys(each.path for each in found)}
    used = [each for each in found if there[each.path]]
    problems = [Problem(each.name, f"no such file: {each.path}") for each in found if not there[each.path]]
    store = _BoxStore(
        tuple(str(each.path) for each in used),
        tuple(each.box for each in used),
        tuple(each.name for each in used),
        shares,
        options.max_pixels,
    )
    labels = [each.label for each in used]
    return stored_samples(
        store, labels, options, split=split, class_names=class_names, origin=origin, problems=problems
    )
