"""Read image folders, with one sub-folder per class, as Samples."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from lond.data.images import EMPTY_FILE, IMAGE_SUFFIXES, short_side
from lond.data.options import DEFAULTS, SPLIT_NAMES, ReadOptions, split_names
from lond.data.read.files import check_files, open_files, relative_name
from lond.data.squares import note_unreadable
from lond.errors import DataError
from lond.io.csv_files import printable, read_rows
from lond.types import UNLABELLED, Problem, Samples

CLASS_TABLE = "class_folders.csv"
"""File that a corrected set holds beside its class folders: which folder holds which class."""

CONFIRMED_TABLE = "confirmed.csv"
"""File of a corrected set: the images, by their paths in it, whose label a person gave or confirmed."""

_LITTER = frozenset({"thumbs.db", "desktop.ini", CLASS_TABLE, CONFIRMED_TABLE})


@dataclass(frozen=True)
class ImageList:
    """Image files with their labels, before any is decoded."""

    paths: tuple[str, ...]
    ids: tuple[str, ...]
    labels: tuple[int, ...]
    class_names: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the visible sub-folders and files of a folder, sorted by name."""
    try:
        visible = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        return [entry for entry in visible if entry.is_dir()], [entry for entry in visible if not entry.is_dir()]
    except OSError as error:
        raise DataError(f"cannot read the folder {folder}: {error.strerror}") from error


def _files_below(folder: Path, skipped: dict[Path, str]) -> list[Path]:
    """Return the visible files below a folder; folders that are not entered go into ``skipped``, with the reason."""

    def note(error: OSError) -> None:
        skipped[Path(error.filename)] = f"the folder cannot be read ({error.strerror})"

    found = []
    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        # A link may lead round in a circle, or to the images of another class.
        links = [Path(parent, name) for name in folders if Path(parent, name).is_symlink()]
        skipped |= dict.fromkeys(links, "a link to a folder; only class folders may be links")
        found += [Path(parent, name) for name in sorted(names) if not name.startswith(".")]
    return [path for path in found if path.name.lower() not in _LITTER]


def _has_folders(folder: Path) -> bool:
    return folder.is_dir() and bool(_entries(folder)[0])


def find_split(root: str | Path, split: str) -> Path | None:
    """Return ROOT/<split> if ROOT is divided into splits and holds this one, else None.

    A folder called ``train`` or ``test`` is a split if it holds folders itself; otherwise it is a class.
    Beside such a split, a ``test`` or ``val`` folder may hold loose images.
    """
    names = split_names(split)
    own = next((Path(root, name) for name in names if _has_folders(Path(root, name))), None)
    if own is not None or not is_divided(root):
        return own
    return next((Path(root, name) for name in names if Path(root, name).is_dir()), None)


def is_divided(root: str | Path) -> bool:
    """Tell whether a folder is divided into splits."""
    return any(_has_folders(Path(root, name)) for names in SPLIT_NAMES.values() for name in names)


def split_folder(root: str | Path, split: str) -> Path:
    """Return the folder that holds ``split``: a split of ROOT, or ROOT itself if it is not divided.

    Raises:
        DataError: there is no such folder or split.
    """
    if not Path(root).is_dir():
        raise DataError(f"there is no folder {root}")
    folder = find_split(root, split)
    if folder is None and is_divided(root):
        raise DataError(f"{root} is divided into splits but has none called {' or '.join(split_names(split))}")
    return folder or Path(root)


def is_read(place: str | Path, root: str | Path) -> bool:
    """Tell whether files in a folder, which need not exist yet, are read with ROOT: as a class, or within one.

    Hidden folders are not read, nor are folders beside the splits of ROOT. ROOT itself counts as read.

    Examples:
        >>> is_read("photos", "photos"), is_read("audit", "photos")
        (True, False)
    """
    place, root = Path(place).resolve(), Path(root).resolve()
    if place == root:
        return True
    if not root.is_dir():
        return False
    if place.is_relative_to(root):
        parts = place.relative_to(root).parts
        if any(part.startswith(".") for part in parts):
            return False
        splits = {name for names in SPLIT_NAMES.values() for name in names}
        return parts[0] in splits or not is_divided(root)
    # Class folders may be links to other places.
    return any(place.is_relative_to(folder.resolve()) for folder in _entries(root)[0] if folder.is_symlink())


def _reject_reason(path: Path) -> str | None:
    try:
        state = path.stat()
    except OSError as error:
        broken = isinstance(error, FileNotFoundError) and path.is_symlink()
        return "broken link: there is no such file" if broken else f"cannot be read ({error.strerror})"
    if not stat.S_ISREG(state.st_mode):
        return "not a regular file"
    if path.suffix.lower() not in IMAGE_SUFFIXES and short_side(path) is None:
        allowed = os.access(path, os.R_OK)
        return "not an image in a known format" if allowed else "cannot be read (Permission denied)"
    return None


def list_images(root: str | Path, split: str = "train", *, ignore_classes: bool = False) -> ImageList:
    """Return the image files of a split with the labels that their class folders give.

    Without class folders every image is ``UNLABELLED`` and there are no class names; so it is with ``ignore_classes``,
    which takes all images below ROOT, of whatever split and folder. Hidden files and folders, whose names begin with
    a dot, count as absent.

    Raises:
        DataError: the folder is missing or holds no images.
    """
    folder = Path(root) if ignore_classes and Path(root).is_dir() else split_folder(root, split)
    skipped: dict[Path, str] = {}
    class_folders, loose = ([], _files_below(folder, skipped)) if ignore_classes else _entries(folder)
    members = [(path, label) for label, member in enumerate(class_folders) for path in _files_below(member, skipped)]
    problems = [Problem(relative_name(path, root), reason) for path, reason in skipped.items()]
    if class_folders:
        strays = [path for path in loose if path.suffix.lower() in IMAGE_SUFFIXES]
        problems += [Problem(relative_name(path, root), "lies outside the class folders") for path in strays]
    else:
        members = [(path, UNLABELLED) for path in loose if path.name.lower() not in _LITTER]
    kept = []
    for path, label in members:
        reason = _reject_reason(path)
        if reason is None:
            kept.append((path, label))
        else:
            problems.append(Problem(relative_name(path, root), reason))
    if not kept:
        wanted = "expected image files in it or its sub-folders"
        if not ignore_classes:
            wanted = f"expected {folder.name}/<class name>/<image files>"
        raise DataError(f"{folder} holds no images; {wanted}")
    paths = tuple(str(path) for path, _ in kept)
    ids = tuple(relative_name(path, root) for path in paths)
    names = tuple(relative_name(member.name, None) for member in class_folders)
    return ImageList(paths, ids, tuple(label for _, label in kept), names, tuple(problems))


def _without(listed: ImageList, reasons: dict[int, str]) -> ImageList:
    kept = [index for index in range(len(listed.paths)) if index not in reasons]
    if not kept:
        raise DataError(
            f"none of the {len(listed.paths)} image files can be read; the first: {next(iter(reasons.values()))}"
        )
    return ImageList(
        tuple(listed.paths[index] for index in kept),
        tuple(listed.ids[index] for index in kept),
        tuple(listed.labels[index] for index in kept),
        listed.class_names,
        listed.problems + tuple(Problem(listed.ids[index], reason) for index, reason in reasons.items()),
    )


def read_folder(root: str | Path, split: str = "train", options: ReadOptions = DEFAULTS) -> Samples:
    """Return the images of a folder (or of its split), labelled by their class folders.

    Class names are the sorted folder names; ids are paths relative to ``root``. Files that are no images are
    left out and listed in ``problems``, and so is a class without any image, whose name stays. An empty file with the
    ending of an image counts as an unreadable image.

    Raises:
        DataError: the folder is missing or holds no images.
    """
    listed = list_images(root, split, ignore_classes=options.ignore_classes)
    if options.verify:
        reasons = check_files(listed.paths, num_workers=options.num_workers, max_pixels=options.max_pixels)
        listed = _without(listed, reasons)
    used = set(listed.labels)
    empty = [name for label, name in enumerate(listed.class_names) if label not in used]
    problems = listed.problems + tuple(
        Problem(f"{name}/", "the class folder holds no readable image") for name in empty
    )
    pixels = open_files(listed.paths, root, options)
    note_unreadable(pixels, {place: EMPTY_FILE for place, path in enumerate(listed.paths) if _is_empty(path)})
    labels = torch.tensor(listed.labels, dtype=torch.int64)
    confirmed = None if options.ignore_classes else _confirmed(Path(root), listed.ids)
    return Samples(pixels, labels, listed.class_names, listed.ids, None, str(root), problems, confirmed)


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False


def _confirmed(root: Path, ids: tuple[str, ...]) -> Tensor | None:
    """Return which labels of a corrected set a person gave or confirmed; None if there are none."""
    table = root / CONFIRMED_TABLE
    if not (table.is_file() and (root / CLASS_TABLE).is_file()):
        return None
    listed = {row["path"] for row in read_rows(table, ("path",), "the list of confirmed labels of a corrected set")}
    found = torch.tensor([printable(name) in listed for name in ids])
    return found if found.any() else None
