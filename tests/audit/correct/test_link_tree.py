"""The corrected set as a folder: right places, safe names, and originals that nobody touches."""

import csv
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lond.audit.correct import link_tree
from lond.audit.correct.link_tree import CLASSES, write_link_tree
from lond.audit.correct.plan import Action, CorrectionPlan, PlannedImage, Reason
from lond.data.read.folders import read_folder
from lond.errors import ConfigError, DataError

LINKS = pytest.mark.parametrize("link", ["symlink", "hardlink", "copy"])


def image(path: str, label: str = "cat", action: Action = Action.KEEP, name: str | None = None) -> PlannedImage:
    return PlannedImage(path if name is None else name, path, label, label, action, Reason.NO_DOUBT)


def make(root: Path, *paths: str) -> Path:
    """Write pictures, each with its own content."""
    for number, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), number, dtype=np.uint8)).save(root / path, "PNG")
    return root


def state(root: Path) -> dict[str, tuple[bytes, int, int, int]]:
    """Return path -> content, modification time, size and mode of everything below a folder."""
    found = {}
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            info = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[os.fsencode(path).hex()] = (content, info.st_mtime_ns, info.st_size, info.st_mode)
    return found


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@LINKS
def test_tree_holds_what_stays_and_leaves_the_originals(tmp_path: Path, link: Any) -> None:
    root = make(tmp_path / "source", "cat/1.png", "cat/2.png", "dog/1.png", "dog/3.png")
    os.utime(root / "cat/1.png", ns=(10**18, 10**18))
    before = state(root)
    plan = CorrectionPlan((
        image("cat/1.png"), image("cat/2.png", "dog", Action.RELABEL), image("dog/1.png", "dog"),
        image("dog/3.png", "dog", Action.LEAVE_OUT), image("dog/3.png", "", name="bare"),
    ))  # fmt: skip
    tree = write_link_tree(tmp_path / "new" / "tree", plan, root, link=link)
    folder = tmp_path / "new" / "tree"
    assert below(folder) == ["cat/1.png", CLASSES, "dog/1.png", "dog/2.png"]
    assert tree.folders == {"cat": "cat", "dog": "dog"} and tree.unlabelled == ("bare",)
    assert tree.files == {"cat/1.png": "cat/1.png", "cat/2.png": "dog/2.png", "dog/1.png": "dog/1.png"}
    for name, place in tree.files.items():
        assert (folder / place).read_bytes() == (root / name).read_bytes()
        assert (folder / place).is_symlink() == (link == "symlink")
        assert (folder / place).stat().st_mtime_ns == (root / name).stat().st_mtime_ns
        assert os.path.samefile(folder / place, root / name) == (link != "copy")
    assert state(root) == before
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["tree"]
    samples = read_folder(folder)
    assert samples.class_names == ("cat", "dog") and samples.labels.tolist() == [0, 1, 1]


def test_an_empty_folder_and_an_empty_plan_are_fine(tmp_path: Path) -> None:
    root = make(tmp_path / "source")
    root.mkdir()
    (tmp_path / "tree").mkdir()
    write_link_tree(tmp_path / "tree", CorrectionPlan(()), root)
    assert below(tmp_path / "tree") == [CLASSES]


@pytest.mark.parametrize("target", ["source", "source/new", ".", "source/../source/x", "full", "file", "link/x"])
def test_folders_that_may_not_be_used(tmp_path: Path, target: str) -> None:
    root = make(tmp_path / "source", "cat/1.png")
    make(tmp_path / "full", "x.png")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(root)
    before = state(tmp_path)
    with pytest.raises(DataError, match="choose a"):
        write_link_tree(tmp_path / target, CorrectionPlan((image("cat/1.png"),)), root)
    assert state(tmp_path) == before


def test_a_missing_source_and_an_unknown_link(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        write_link_tree(tmp_path / "tree", CorrectionPlan(()), tmp_path / "missing")
    with pytest.raises(ConfigError, match="symlink, hardlink, copy"):
        write_link_tree(tmp_path / "tree", CorrectionPlan(()), tmp_path, link="move")  # type: ignore[arg-type]


@LINKS
@pytest.mark.parametrize(
    "path",
    [
        *("../secret.png", "cat/../../secret.png", "sub/../../secret.png", "/etc/passwd", "..", ".", "", "cat"),
        *("no.png", "a\0b", "x" * 5000),
    ],
)
def test_hostile_paths_lead_nowhere_and_write_nothing(tmp_path: Path, path: str, link: Any) -> None:
    root = make(tmp_path / "source", "cat/1.png", "sub/1.png")
    make(tmp_path, "secret.png")
    before = state(tmp_path)
    with pytest.raises(DataError, match="1 images cannot be linked, so nothing was written"):
        write_link_tree(
            tmp_path / "tree", CorrectionPlan((image("cat/1.png"), image(path, name="bad"))), root, link=link
        )
    assert state(tmp_path) == before


def test_only_the_first_few_bad_paths_are_listed(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    with pytest.raises(DataError, match="7 images.*and 2 others"):
        write_link_tree(tmp_path / "tree", CorrectionPlan(tuple(image(f"no{n}.png") for n in range(7))), root)


def test_absolute_paths_within_the_source_are_fine(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    write_link_tree(tmp_path / "tree", CorrectionPlan((image(str(root / "a.png")),)), root)
    assert below(tmp_path / "tree") == ["cat/a.png", CLASSES]


HOSTILE = (
    "..",
    ".",
    "../../up",
    "/abs",
    "",
    "a/b",
    "a_b",
    "A_B",
    "nul",
    ".hid",
    "x\0y",
    "日本",
    "é" * 400,
    CLASSES,
    "=1+1",
)


@LINKS
def test_hostile_class_names(tmp_path: Path, link: Any) -> None:
    root = make(tmp_path / "source", *(f"{number}.png" for number in range(len(HOSTILE))))
    before = state(root)
    plan = CorrectionPlan(tuple(image(f"{number}.png", label) for number, label in enumerate(HOSTILE)))
    tree = write_link_tree(tmp_path / "tree", plan, root, link=link)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "tree"]
    assert state(root) == before
    folders = {path.name for path in (tmp_path / "tree").iterdir() if path.is_dir()}
    assert folders == set(tree.folders.values()) and len(folders) == len(HOSTILE) - 1
    assert len({name.casefold() for name in folders}) == len(folders)
    assert tree.folders["日本"] == "日本" and tree.folders["A_B"] == "A_B" and tree.folders["a/b"] != "a/b"
    with (tmp_path / "tree" / CLASSES).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["class"]: row["folder"] for row in rows} == {
        "'=1+1" if label == "=1+1" else label: folder for label, folder in tree.folders.items()
    }
    assert len(read_folder(tmp_path / "tree")) == len(HOSTILE) - 1


def test_names_that_collide_get_a_suffix(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a/1.png", "b/1.png", "c/1.PNG", "d/1.jpg", "e/.1.png", "f/" + "ü" * 120 + ".png")
    paths = [str(path.relative_to(root)) for path in sorted(root.rglob("*.*"))]
    tree = write_link_tree(tmp_path / "tree", CorrectionPlan(tuple(image(path) for path in paths)), root)
    names = [place.removeprefix("cat/") for place in tree.files.values()]
    assert names[:5] == ["1.png", "1_2.png", "1_3.PNG", "1.jpg", "_1.png"]
    assert len({name.casefold() for name in names}) == 6
    for path, place in tree.files.items():
        assert (tmp_path / "tree" / place).read_bytes() == (root / path).read_bytes()
        assert Path(place).suffix == Path(path).suffix


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_file_names_that_are_not_utf8(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    odd = os.fsdecode(b"caf\xe9.png")
    (root / "a.png").rename(root / odd)
    for number, path in enumerate((odd, "caf\\udce9.png")):
        tree = write_link_tree(tmp_path / f"tree{number}", CorrectionPlan((image(path, name="a"),)), root)
        assert tree.files == {"a": "cat/caf_udce9.png"}
        assert (tmp_path / f"tree{number}" / tree.files["a"]).is_file()


def test_links_within_the_source_are_followed(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    (root / "b.png").symlink_to("a.png")
    for link in ("symlink", "hardlink", "copy"):
        write_link_tree(tmp_path / link, CorrectionPlan((image("b.png"),)), root, link=link)  # type: ignore[arg-type]
        assert (tmp_path / link / "cat" / "b.png").read_bytes() == (root / "a.png").read_bytes()
    assert not (tmp_path / "hardlink" / "cat" / "b.png").is_symlink()


def test_links_that_lead_out_of_the_source_are_not_copied_from(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    make(tmp_path, "secret.png")
    (root / "b.png").symlink_to(tmp_path / "secret.png")
    (root / "folder").symlink_to(tmp_path)
    for path in ("b.png", "folder/secret.png"):
        plan = CorrectionPlan((image(path),))
        for link in ("hardlink", "copy"):
            with pytest.raises(DataError, match="a link that leads outside the source folder"):
                write_link_tree(tmp_path / "tree", plan, root, link=link)  # type: ignore[arg-type]
            assert not (tmp_path / "tree").exists()
    # A link to a link discloses nothing that the source does not.
    write_link_tree(tmp_path / "tree", CorrectionPlan((image("b.png"),)), root)
    write_link_tree(tmp_path / "copy", CorrectionPlan((image("b.png"),)), root, link="copy", allow_outside=True)
    assert (tmp_path / "copy/cat/b.png").read_bytes() == (tmp_path / "secret.png").read_bytes()


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "source", "a.png", "b.png")
    before = state(tmp_path)

    def fail(source: str, target: Path) -> None:
        if source.endswith("b.png"):
            raise OSError("no room")
        os.symlink(source, target)

    monkeypatch.setitem(link_tree._MAKERS, "symlink", fail)
    with pytest.raises(DataError, match="no room.*link='copy'"):
        write_link_tree(tmp_path / "tree", CorrectionPlan((image("a.png"), image("b.png"))), root)
    assert state(tmp_path) == before


def test_what_another_attempt_left_is_not_removed(tmp_path: Path) -> None:
    root = make(tmp_path / "source", "a.png")
    make(tmp_path / "tree.unfinished", "mine.png")
    with pytest.raises(DataError, match="remove it first"):
        write_link_tree(tmp_path / "tree", CorrectionPlan((image("a.png"),)), root)
    assert (tmp_path / "tree.unfinished" / "mine.png").is_file()


def test_the_tree_says_which_labels_a_person_confirmed(tmp_path: Path) -> None:
    source = make(tmp_path / "source", "a.png", "b.png", "c.png", "d.png")
    kept = replace(image("a.png", "=cat"), reason=Reason.PERSON_KEPT)
    given = replace(image("b.png", "dog", Action.RELABEL), reason=Reason.PERSON_RELABELLED)
    plan = CorrectionPlan((kept, given, image("c.png"), replace(image("d.png", ""), reason=Reason.PERSON_ACCEPTED)))
    tree = write_link_tree(tmp_path / "out", plan, source)
    samples = read_folder(tmp_path / "out")
    assert samples.confirmed is not None and not samples.problems
    known = [name for name, confirmed in zip(samples.ids, samples.confirmed.tolist(), strict=True) if confirmed]
    assert sorted(known) == sorted([tree.files["a.png"], tree.files["b.png"]])
    (tmp_path / "out" / tree.files["b.png"]).rename(tmp_path / "out" / "cat" / "moved.png")
    moved = read_folder(tmp_path / "out").confirmed
    assert moved is not None and int(moved.sum()) == 1, "a label that was changed since is not the confirmed one"
    (tmp_path / "out" / CLASSES).unlink()
    assert read_folder(tmp_path / "out").confirmed is None, "any other folder may have such a file"


def test_without_decisions_there_is_no_such_list(tmp_path: Path) -> None:
    source = make(tmp_path / "source", "a.png")
    write_link_tree(tmp_path / "out", CorrectionPlan((image("a.png"),)), source)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["cat", CLASSES]
