"""Folders of images."""

from pathlib import Path

import pytest
from PIL import Image

from lond.data.options import ReadOptions
from lond.data.read.files import load_into_memory
from lond.data.read.folders import CLASS_TABLE, find_split, is_divided, is_read, read_folder
from lond.data.sources import has_split, load
from lond.errors import DataError
from lond.types import FOREIGN, UNLABELLED

IN_PROCESS = ReadOptions(num_workers=0)


def _image(path: Path, colour: str = "red", size: tuple[int, int] = (12, 10)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def test_classes_ids_nesting_and_hidden_files(tmp_path: Path) -> None:
    for name in ("dog/b.png", "dog/a.jpg", "cat/deep/er/c.PNG", ".git/x/y.png", "cat/.hidden.png", "cat/.h/z.png"):
        _image(tmp_path / name)
    (tmp_path / "cat" / "Thumbs.db").write_bytes(b"litter")
    (tmp_path / "README.md").write_text("hello")
    samples = read_folder(tmp_path, options=IN_PROCESS)
    assert samples.class_names == ("cat", "dog")
    assert samples.ids == ("cat/deep/er/c.PNG", "dog/a.jpg", "dog/b.png")
    assert samples.labels.tolist() == [0, 1, 1]
    assert samples.problems == ()
    assert samples.pixels.size == (10, 10)


@pytest.mark.parametrize("test_name", ["test", "val", "validation"])
def test_splits(tmp_path: Path, test_name: str) -> None:
    for name in ("train/cat/1.png", "train/dog/2.png", f"{test_name}/cat/3.png"):
        _image(tmp_path / name)
    assert read_folder(tmp_path, "train", IN_PROCESS).ids == ("train/cat/1.png", "train/dog/2.png")
    assert read_folder(tmp_path, "test", IN_PROCESS).ids == (f"{test_name}/cat/3.png",)
    assert has_split(tmp_path, "train") and has_split(tmp_path, "test")
    assert load(tmp_path, "test", class_names=("dog", "cat"), options=IN_PROCESS).labels.tolist() == [1]


def test_a_divided_folder_without_the_split(tmp_path: Path) -> None:
    for name in ("train/cat/1.png", "train/dog/2.png"):
        _image(tmp_path / name)
    assert not has_split(tmp_path, "test")
    with pytest.raises(DataError, match="none called test or val"):
        read_folder(tmp_path, "test")


def test_an_undivided_folder_serves_any_split(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/2.png"):
        _image(tmp_path / name)
    assert len(read_folder(tmp_path, "test", IN_PROCESS)) == 2
    assert has_split(tmp_path, "train") and not has_split(tmp_path, "test")


def test_a_class_called_train_is_no_split(tmp_path: Path) -> None:
    for name in ("train/1.png", "tractor/2.png"):
        _image(tmp_path / name)
    assert not is_divided(tmp_path) and find_split(tmp_path, "train") is None
    assert read_folder(tmp_path, options=IN_PROCESS).class_names == ("tractor", "train")


def test_loose_test_images_beside_a_train_split(tmp_path: Path) -> None:
    for name in ("train/cat/1.png", "train/dog/2.png", "test/x.png"):
        _image(tmp_path / name)
    assert read_folder(tmp_path, "test", IN_PROCESS).labels.tolist() == [UNLABELLED]


def test_loose_images_are_unlabelled(tmp_path: Path) -> None:
    for name in ("1.png", "2.png"):
        _image(tmp_path / name)
    samples = load(tmp_path, "test", class_names=("cat", "dog"), options=IN_PROCESS)
    assert samples.labels.tolist() == [UNLABELLED] * 2
    assert samples.class_names == ("cat", "dog")


def test_unknown_class_folders_are_foreign(tmp_path: Path) -> None:
    for name in ("cat/1.png", "zebra/2.png"):
        _image(tmp_path / name)
    assert load(tmp_path, "test", class_names=("cat", "dog"), options=IN_PROCESS).labels.tolist() == [0, FOREIGN]


def test_problems_are_listed_and_left_out(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/2.png", "stray.png"):
        _image(tmp_path / name)
    _image(tmp_path / "dog" / "no_suffix.png")
    (tmp_path / "dog" / "no_suffix.png").rename(tmp_path / "dog" / "no_suffix")
    (tmp_path / "cat" / "zero.jpg").touch()
    (tmp_path / "cat" / "notes.txt").write_text("hello")
    (tmp_path / "cat" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 broken")
    (tmp_path / "cat" / "dangling.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "empty").mkdir()
    quick = read_folder(tmp_path, options=IN_PROCESS)
    assert quick.class_names == ("cat", "dog", "empty")
    assert quick.ids == ("cat/1.png", "cat/broken.jpg", "cat/zero.jpg", "dog/2.png", "dog/no_suffix")
    reasons = {problem.id: problem.reason for problem in quick.problems}
    assert [problem.id for problem in quick.pixels.problems] == ["cat/zero.jpg"], "known before any image is decoded"
    assert set(reasons) == {"stray.png", "cat/notes.txt", "cat/dangling.png", "empty/"}
    full = read_folder(tmp_path, options=ReadOptions(num_workers=0, verify=True))
    assert full.ids == ("cat/1.png", "dog/2.png", "dog/no_suffix")
    assert {problem.id for problem in full.problems} == {*reasons, "cat/broken.jpg", "cat/zero.jpg"}
    assert load_into_memory(full.pixels).images[:, 0].min() == 255


def test_a_class_of_broken_images_keeps_its_name(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/2.png"):
        _image(tmp_path / name)
    (tmp_path / "dog" / "2.png").write_bytes(b"broken")
    samples = read_folder(tmp_path, options=ReadOptions(num_workers=0, verify=True))
    assert samples.class_names == ("cat", "dog")
    assert [problem.id for problem in samples.problems] == ["dog/2.png", "dog/"]


def test_missing_empty_and_useless_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        read_folder(tmp_path / "absent")
    with pytest.raises(DataError, match="holds no images"):
        read_folder(tmp_path)
    (tmp_path / "cat").mkdir()
    with pytest.raises(DataError, match="holds no images"):
        read_folder(tmp_path)
    (tmp_path / "cat" / "1.png").write_bytes(b"x")
    with pytest.raises(DataError, match="none of the 1"):
        read_folder(tmp_path, options=ReadOptions(num_workers=0, verify=True))


def test_one_class_is_not_enough_to_train(tmp_path: Path) -> None:
    _image(tmp_path / "cat" / "1.png")
    with pytest.raises(DataError, match="only one class, 'cat'"):
        load(tmp_path, options=IN_PROCESS)
    assert len(load(tmp_path, "test", options=IN_PROCESS)) == 1


def test_linked_class_folders_and_loops(tmp_path: Path) -> None:
    _image(tmp_path / "store" / "1.png")
    root = tmp_path / "root"
    _image(root / "dog" / "2.png")
    (root / "cat").symlink_to(tmp_path / "store", target_is_directory=True)
    (root / "dog" / "loop").symlink_to(root, target_is_directory=True)
    assert read_folder(root, options=IN_PROCESS).ids == ("cat/1.png", "dog/2.png")


def test_hostile_names(tmp_path: Path) -> None:
    long = "n" * 240
    for name in (f"{long}/{long}.png", "图 像/ü, \"q\" 'n'.png", "$(rm -rf)/new\nline.png"):
        _image(tmp_path / name)
    samples = read_folder(tmp_path, options=IN_PROCESS)
    assert len(samples) == 3 and f"{long}/{long}.png" in samples.ids
    assert samples.class_names == tuple(sorted((long, "图 像", "$(rm -rf)")))


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    _image(tmp_path / "cat" / "1.png")
    try:
        (tmp_path / "cat" / "1.png").rename(tmp_path / "cat" / "bad\udcff.png")
    except OSError:
        pytest.skip("the file system allows UTF-8 names only")
    samples = read_folder(tmp_path, "test", IN_PROCESS)
    assert samples.ids[0].encode("utf-8") == b"cat/bad\\xff.png"
    assert load_into_memory(samples.pixels).images[0, 0, 0, 0] == 255


def test_size_and_channels_are_options(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/2.png"):
        _image(tmp_path / name)
    samples = load(tmp_path, size=6, options=ReadOptions(num_workers=0, channels=1))
    assert load_into_memory(samples.pixels).images.shape == (2, 1, 6, 6)


def test_ignoring_classes_takes_every_image_without_labels(tmp_path: Path) -> None:
    for name in ("a.png", "sub dir/b.png", "train/cat/c.png", "test/cat/d.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    (tmp_path / CLASS_TABLE).write_text("class,folder\ncat,cat\n", encoding="utf-8")
    samples = read_folder(tmp_path, "test", ReadOptions(num_workers=0, ignore_classes=True))
    assert sorted(samples.ids) == ["a.png", "sub dir/b.png", "test/cat/d.png", "train/cat/c.png"]
    assert samples.labels.tolist() == [UNLABELLED] * 4
    assert samples.class_names == ()
    assert samples.problems == ()
    with pytest.raises(DataError, match="there is no folder"):
        read_folder(tmp_path / "absent", "test", ReadOptions(ignore_classes=True))


def test_which_folders_are_read(tmp_path: Path) -> None:
    photos, elsewhere = tmp_path / "photos", tmp_path / "elsewhere"
    _image(photos / "cat" / "1.png")
    elsewhere.mkdir()
    (photos / "dog").symlink_to(elsewhere)
    (tmp_path / "link").symlink_to(photos)
    read = (photos, photos / "new", photos / "cat" / "new", tmp_path / "link" / "new", elsewhere / "new")
    assert all(is_read(place, photos) for place in (*read, photos / "x" / ".." / "new"))
    apart = (tmp_path, tmp_path / "photos-2", photos / ".hidden" / "new", photos / "cat" / ".new", photos / "..")
    assert not any(is_read(place, photos) for place in apart)
    assert not is_read(photos / "new", tmp_path / "missing")


def test_only_splits_of_a_divided_folder_are_read(tmp_path: Path) -> None:
    _image(tmp_path / "train" / "cat" / "1.png")
    assert not is_read(tmp_path / "audit", tmp_path)
    assert is_read(tmp_path, tmp_path) and is_read(tmp_path / "train" / "audit", tmp_path)
    assert is_read(tmp_path / "val", tmp_path), "it would become a split"
