"""Torch and Hugging Face datasets as Samples."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, Subset, TensorDataset

from lond.data.options import ReadOptions
from lond.data.read.arrays import from_dataset, from_hugging_face
from lond.data.read.files import load_into_memory
from lond.data.sources import has_split, load
from lond.errors import DataError, MissingDependencyError
from lond.types import FOREIGN, UNLABELLED


class _Pictures(Dataset[tuple[Any, Any]]):
    def __init__(self, images: list[Any], labels: list[Any]) -> None:
        self.images, self.own_labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.images[index]
        if isinstance(image, Exception):
            raise image
        return image, self.own_labels[index]


class _Listed(_Pictures):
    classes = ("cat", "dog")

    @property
    def targets(self) -> list[Any]:
        return self.own_labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.images[index], None


def _array(red: int) -> np.ndarray:
    pixels = np.zeros((12, 10, 3), dtype=np.uint8)
    pixels[..., 0] = red
    return pixels


def test_labels_by_item_by_list_and_through_subsets() -> None:
    plain = from_dataset(_Pictures([_array(1)] * 5, ["b", "a", "b", None, "a"]))
    assert plain.class_names == ("a", "b") and plain.labels.tolist() == [1, 0, 1, UNLABELLED, 0]
    listed = _Listed([_array(1)] * 5, [1, 0, 1, 0, 0])
    assert from_dataset(listed).labels.tolist() == [1, 0, 1, 0, 0]
    part = from_dataset(Subset(listed, [2, 1]))
    assert part.class_names == ("cat", "dog") and part.labels.tolist() == [1, 0]
    assert load(listed, "test", class_names=("dog", "eel")).labels.tolist() == [0, FOREIGN, 0, FOREIGN, FOREIGN]


def test_bare_images_and_damaged_items_have_no_label() -> None:
    assert load([_array(1), _array(2)], "test", class_names=("a", "b")).labels.tolist() == [UNLABELLED] * 2
    damaged = _Pictures([_array(1), OSError("truncated"), _array(2)], [0, 1, 1])
    assert from_dataset(damaged).labels.tolist() == [0, UNLABELLED, 1]
    with pytest.raises(DataError, match="items, not int"):
        load([1, 2])


def test_tensor_dataset() -> None:
    dataset = TensorDataset(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.tensor([0, 1, 1, 0]))
    samples = load(dataset, size=4)
    assert samples.labels.tolist() == [0, 1, 1, 0] and samples.pixels.size == (4, 4)


def _hugging_face(labels: list[int | None]) -> Any:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["2", "1", "dog"])})
    rows = {"image": [Image.fromarray(_array(10 * row)) for row in range(len(labels))], "label": labels}
    return datasets.Dataset.from_dict(rows, features=features)


def test_hugging_face() -> None:
    dataset = _hugging_face([2, 0, 1, -1])
    samples = from_hugging_face(dataset)
    assert samples.class_names == ("2", "1", "dog")
    assert samples.labels.tolist() == [2, 0, 1, UNLABELLED]
    assert load_into_memory(samples.pixels).images[:, 0, 0, 0].tolist() == [0, 10, 20, 30]
    with pytest.raises(DataError, match="no column 'picture'; it has image, label"):
        from_hugging_face(dataset, "picture")
    assert load(dataset, "test", class_names=("dog", "1")).labels.tolist() == [0, FOREIGN, 1, UNLABELLED]


def test_ids_of_a_hugging_face_dataset_are_kept() -> None:
    dataset = _hugging_face([2, 0, 1, 1, 0]).add_column("id", ["c/7.png", "", "a#3", "a", "a#3"])
    assert from_hugging_face(dataset).ids == ("c/7.png", "1", "a#3", "a", "a#3#4")
    renamed = dataset.rename_column("id", "name")
    assert load(renamed).ids == ("0", "1", "2", "3", "4")
    assert from_hugging_face(renamed, options=ReadOptions(id_column="name")).ids[0] == "c/7.png"


def test_hugging_face_splits_undecoded_and_unlabelled() -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.DatasetDict({"train": _hugging_face([0, 1]), "validation": _hugging_face([2])})
    assert has_split(whole, "test") and has_split(whole, "train")
    assert len(load(whole)) == 2 and len(load(whole, "test")) == 1
    del whole["validation"]
    assert not has_split(whole, "test")
    with pytest.raises(DataError, match="no split called test"):
        load(whole, "test")
    raw = whole["train"].cast_column("image", datasets.Image(decode=False)).remove_columns("label")
    samples = load(raw, "test", class_names=("a", "b"), options=ReadOptions(size=8))
    assert samples.labels.tolist() == [UNLABELLED] * 2
    assert load_into_memory(samples.pixels).images[:, 0, 0, 0].tolist() == [0, 10]


def test_a_saved_hugging_face_dataset_is_a_folder_to_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    _hugging_face([2, 0, 1]).save_to_disk(tmp_path / "one")
    samples = load(tmp_path / "one")
    assert samples.labels.tolist() == [2, 0, 1] and samples.class_names == ("2", "1", "dog")
    assert not has_split(tmp_path / "one", "test")
    whole = datasets.DatasetDict({"train": _hugging_face([0, 1]), "test": _hugging_face([2])})
    whole.save_to_disk(tmp_path / "two")
    assert has_split(tmp_path / "two", "test")
    assert len(load(tmp_path / "two")) == 2
    assert load(tmp_path / "two", "test", class_names=("dog",)).labels.tolist() == [0]
    next((tmp_path / "one").glob("*.arrow")).unlink()
    with pytest.raises(DataError, match="saved Hugging Face dataset but cannot be read"):
        load(tmp_path / "one")


def test_hugging_face_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[hf\]'"):
        from_hugging_face(object())
