"""The one door: what each kind of source leads to (the kinds themselves are tested beside their readers)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lond.data.pixels import ArrayPixels
from lond.data.read.arrays import from_arrays
from lond.data.sources import check_apart, has_split, load
from lond.errors import ConfigError, DataError
from lond.types import FOREIGN, UNLABELLED


def _images(count: int, side: int = 8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def test_arrays_and_samples() -> None:
    x, y = _images(3), [0, 5, 5]
    train = load((x, y))
    assert train.class_names == ("0", "5")
    assert load(train) is train
    assert load((torch.from_numpy(x), torch.tensor(y))).labels.tolist() == [0, 1, 1]
    truth = load((x, y, [5, 5, 9])).true_labels
    assert truth is not None and truth.tolist() == [1, 1, FOREIGN]
    assert load(x, "test", class_names=("a", "b")).labels.tolist() == [UNLABELLED] * 3


def test_numbers_meet_the_class_names_of_training() -> None:
    x = _images(3)
    assert load((x, [5, 7, 0]), "test", class_names=("0", "5")).labels.tolist() == [1, FOREIGN, 0]
    assert load((x, [1, 7, -1]), "test", class_names=("cat", "dog")).labels.tolist() == [1, FOREIGN, FOREIGN]
    assert load((x, ["dog", "cow", None]), "test", class_names=("cat", "dog")).labels.tolist() == [
        1,
        FOREIGN,
        UNLABELLED,
    ]


def test_npz_is_mapped_by_its_own_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=_images(2), y=np.array([0, 1]), class_names=np.array(["dog", "cow"]))
    assert load(str(tmp_path / "d.npz"), class_names=("cat", "dog")).labels.tolist() == [1, FOREIGN]
    np.savez(tmp_path / "e.npz", x=_images(2), y=np.array([0, 7]))
    assert load(tmp_path / "e.npz", class_names=("cat", "dog")).labels.tolist() == [0, FOREIGN]
    assert has_split(tmp_path / "e.npz", "train")


def test_one_class_cannot_be_trained_on() -> None:
    with pytest.raises(DataError, match="only one class, '4'"):
        load((_images(2), [4, 4]))
    assert len(load((_images(2), [4, 4]), "test")) == 2


def test_size_brings_arrays_to_it_as_it_does_files() -> None:
    samples = load((_images(3, 8), [0, 1, 1]), size=4)
    assert isinstance(samples.pixels, ArrayPixels) and samples.pixels.images.shape == (3, 3, 4, 4)
    grey = load((_images(3, 8)[..., 0], [0, 1, 1]), size=16)
    assert grey.pixels.size == (16, 16) and grey.pixels.channels == 1
    same = from_arrays(_images(2), [0, 1])
    assert load(same, size=8) is same


@pytest.mark.parametrize("source", [None, 7, {"x": 1}, b"bytes", (1, 2, 3, 4, 5)[:1], object()])
def test_unknown_kinds(source: object) -> None:
    with pytest.raises(DataError):
        load(source)


def test_unknown_paths_and_splits(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file or folder"):
        load(tmp_path / "absent")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="no known kind"):
        load(tmp_path / "notes.txt")
    with pytest.raises(DataError, match="no known kind"):
        has_split(tmp_path / "notes.txt", "test")
    with pytest.raises(DataError, match="unknown split"):
        load((_images(2), [0, 1]), "holdout")
    assert has_split((_images(2), [0, 1]), "train") and not has_split((_images(2), [0, 1]), "test")


def test_output_among_the_images_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos = tmp_path / "photos"
    (photos / "cat").mkdir(parents=True)
    monkeypatch.chdir(photos)
    with pytest.raises(ConfigError, match=r"^--out audit lies in \., where .* such as \.\./audit$"):
        check_apart(Path("audit"), ".", "--out")
    with pytest.raises(ConfigError, match=r"is the folder of the images itself; .* such as \.\./photos-output$"):
        check_apart(photos, str(photos), "--cache")
    check_apart(tmp_path / "audit", str(photos), "--out")
    check_apart(photos, "", "--out")
    check_apart(tmp_path, str(tmp_path / "table.csv"), "--out")


def test_sets_with_fixed_names_may_hold_output(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "data.yaml").write_text("train: images\nnames: [cat, dog]\n")
    check_apart(tmp_path / "audit", str(tmp_path), "--out")
    with pytest.raises(ConfigError, match="itself"):
        check_apart(tmp_path, str(tmp_path), "--out")
