"""A corrected set as a folder of class folders with links to the originals, which are never touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lond.audit.correct.place import CLASSES, check_tree_place
from lond.audit.correct.plan import CorrectionPlan
from lond.audit.correct.safe_names import NameBook
from lond.data.read.files import with_odd_bytes
from lond.data.read.folders import CONFIRMED_TABLE
from lond.errors import ConfigError, DataError
from lond.io.atomic import FULL
from lond.io.csv_files import write_rows

Link = Literal["symlink", "hardlink", "copy"]


@dataclass(frozen=True)
class LinkTree:
    """What was written: class -> folder, id -> path below the tree, and the ids of images without a label."""

    folders: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    unlabelled: tuple[str, ...] = ()


def write_link_tree(
    folder: Path,
    plan: CorrectionPlan,
    root: Path,
    *,
    link: Link = "symlink",
    allow_outside: bool = False,
    overwrite: bool = False,
) -> LinkTree:
    """Write ``folder/<class>/<image>`` for every kept image, and a table of the class folders.

    ``confirmed.csv`` lists the images whose label a person gave or confirmed: training and later audits take these
    labels as known.
    All is checked before anything is written, and the tree appears at once or not at all. Images without a label belong
    in no folder and are left out. A hard link is the original under another name: editing it edits the original. Names
    of classes and files that a file system could refuse or misunderstand are made safe.

    Args:
        folder: where to write; it must be new or empty, and neither in ``root`` nor around it.
        plan: what becomes of the images.
        root: the source folder, which the paths of the plan are relative to.
        link: "symlink" (absolute), "hardlink" or "copy".
        allow_outside: whether images may lie outside ``root``, or be links there that a copy would follow.
        overwrite: whether a folder that this function wrote before is replaced; see ``check_tree_place``.

    Raises:
        ConfigError: there is no such kind of link.
        DataError: the folder may not be used, a file is missing or lies outside the source, or linking fails.

    Examples:
        >>> import numpy as np
        >>> from PIL import Image
        >>> from lond.audit import AuditSettings, audit, plan_corrections
        >>> generator = np.random.default_rng(0)
        >>> for number in range(40):
        ...     path = Path("photos") / "ab"[number // 20] / f"{number:02d}.png"
        ...     path.parent.mkdir(parents=True, exist_ok=True)
        ...     Image.fromarray(generator.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(path)
        >>> points = generator.normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) // 20]
        >>> found = audit("photos", embeddings=points, settings=AuditSettings(map="none"))
        >>> plan = plan_corrections(found.table)
        >>> _ = write_link_tree(Path("corrected"), plan, Path("photos"))
        >>> len(list(Path("corrected").glob("*/*.png")))
        40
    """
    if link not in _MAKERS:
        raise ConfigError(f"link must be one of {', '.join(_MAKERS)}, not {link!r}")
    source, target = root.resolve(), folder.resolve()
    _check_folders(source, target)
    check_tree_place(folder, overwrite=overwrite)
    files = _sources(plan, source, follow=link != "symlink", allow_outside=allow_outside)
    tree = _layout(plan, files)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".unfinished")
    try:
        temporary.mkdir()
    except FileExistsError as error:
        raise DataError(f"{temporary} is left from another attempt; remove it first") from error
    try:
        _fill(temporary, tree, files, _MAKERS[link])
        confirmed = [(tree.files[image.id],) for image in plan.kept if image.confirmed]
        if confirmed:
            write_rows(temporary / CONFIRMED_TABLE, ("path",), confirmed)
        _put_in_place(temporary, target)
    except OSError as error:
        advice = "free some space" if error.errno in FULL else "link='copy' works on any file system"
        raise DataError(f"cannot write {target} ({error}); {advice}") from error
    finally:
        # Gone already if all went well; removing links does not touch what they lead to.
        shutil.rmtree(temporary, ignore_errors=True)
    return tree


def _check_folders(source: Path, target: Path) -> None:
    if not source.is_dir():
        raise DataError(f"there is no folder {source}; give the folder that the paths of the table are relative to")
    if target.is_relative_to(source) or source.is_relative_to(target):
        raise DataError(f"{target} and the source {source} lie within each other; choose a folder beside the source")


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename a finished tree; one that it replaces is removed last. Removing links leaves what they lead to."""
    if not target.exists():
        temporary.rename(target)
        return
    old = target.with_name(target.name + ".replaced")
    shutil.rmtree(old, ignore_errors=True)
    target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _sources(plan: CorrectionPlan, source: Path, *, follow: bool, allow_outside: bool) -> dict[str, str]:
    """Return id -> absolute path of every image to link."""
    found, wrong = {}, []
    for image in plan.kept:
        if image.label:
            try:
                found[image.id] = locate(image.path, source, follow=follow, allow_outside=allow_outside)
            except DataError as error:
                wrong.append(f"{image.id[:80]!r}: {error}")
    if wrong:
        more = f"; and {len(wrong) - 5} others" if len(wrong) > 5 else ""
        raise DataError(f"{len(wrong)} images cannot be linked, so nothing was written: {'; '.join(wrong[:5])}{more}")
    return found


def locate(path: str, source: Path, *, follow: bool = False, allow_outside: bool = False) -> str:
    """Return the file that a path of an audit's table names.

    Args:
        path: as the table has it.
        source: the folder that was audited, without links in its own path.
        follow: whether a link is taken for what it leads to.
        allow_outside: whether the file may lie outside the source, or be a link that leads there.

    Raises:
        DataError: there is no such file, or it lies outside.
    """
    if not path:
        raise DataError("it is in no file of its own")
    for text in (path, with_odd_bytes(path)):
        # Dots are resolved in the text, so that no link on the way can lead them elsewhere.
        place = os.path.normpath(os.path.join(source, text))
        if "\0" in text or not (allow_outside or Path(place).is_relative_to(source)):
            raise DataError("its path leads outside the source folder")
        if os.path.isfile(place):
            if follow and not (allow_outside or Path(os.path.realpath(place)).is_relative_to(source)):
                raise DataError("it is a link that leads outside the source folder")
            return place
    raise DataError("there is no such file")


def _layout(plan: CorrectionPlan, files: dict[str, str]) -> LinkTree:
    """Give every class a folder and every image a name in it."""
    folder_names, folders = NameBook(CLASSES, CONFIRMED_TABLE), {}
    books: dict[str, NameBook] = {}
    placed = {}
    for label in sorted({image.label for image in plan.kept if image.label}):
        folders[label] = folder_names.take(label)
        books[label] = NameBook()
    for image in plan.kept:
        if image.label:
            stem, ending = os.path.splitext(os.path.basename(files[image.id]))
            placed[image.id] = f"{folders[image.label]}/{books[image.label].take(stem, ending)}"
    return LinkTree(folders, placed, tuple(image.id for image in plan.kept if not image.label))


def _fill(folder: Path, tree: LinkTree, files: dict[str, str], make: Callable[[str, Path], object]) -> None:
    for name in tree.folders.values():
        (folder / name).mkdir()
    for name, place in tree.files.items():
        make(files[name], folder / place)
    write_rows(folder / CLASSES, ("class", "folder"), tree.folders.items(), as_is=("folder",))


def _hard_link(source: str, target: Path) -> None:
    # A link to a link would break when the first one is moved.
    os.link(os.path.realpath(source), target)


_MAKERS: dict[str, Callable[[str, Path], object]] = {
    "symlink": os.symlink,
    "hardlink": _hard_link,
    "copy": shutil.copy2,
}
