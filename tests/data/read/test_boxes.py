"""Boxes of COCO and YOLO data sets, cut out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw

from lond.data.options import ReadOptions
from lond.data.sources import has_split, load
from lond.errors import DataError
from lond.types import Request, Samples

OPTIONS = ReadOptions(num_workers=0, size=4)


def scene(path: Path) -> None:
    """Write a picture of 40 x 20 pixels: black, with a red square at (4, 2) and a blue one at (20, 10)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", (40, 20))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((4, 2, 11, 9), fill="red")
    draw.rectangle((20, 10, 27, 17), fill="blue")
    picture.save(path)


def coco(folder: Path, **changes: Any) -> Path:
    scene(folder / "pictures" / "one.png")
    content = {
        "images": [{"id": 7, "file_name": "pictures/one.png"}, {"id": 8, "file_name": "lost.png"}],
        "categories": [{"id": 1, "name": "red"}, {"id": 5, "name": "blue"}],
        "annotations": [
            {"id": 10, "image_id": 7, "category_id": 1, "bbox": [4, 2, 8, 8]},
            {"id": 11, "image_id": 7, "category_id": 5, "bbox": [20, 10, 8, 8]},
            {"id": 12, "image_id": 8, "category_id": 5, "bbox": [0, 0, 5, 5]},
            {"id": 13, "image_id": 7, "category_id": 5, "bbox": [100, 0, 5, 5]},
        ],
    }
    path = folder / "instances.json"
    path.write_text(json.dumps(content | changes))
    return path


def yolo(folder: Path) -> Path:
    for split in ("train", "val"):
        scene(folder / "images" / split / "one.png")
        labels = folder / "labels" / split / "one.txt"
        labels.parent.mkdir(parents=True)
        labels.write_text("0 0.2 0.3 0.2 0.4\n\n1 0.6 0.7 0.2 0.4\n")
    (folder / "data.yaml").write_text("path: .\nnames:\n  0: red\n  1: blue\n")
    return folder


def middles(samples: Samples) -> list[list[int]]:
    (images,) = samples.pixels.stream([Request(torch.arange(len(samples)))])
    found: list[list[int]] = images[0, :, :, 2, 2].tolist()
    return found


def test_coco_boxes_are_images_of_their_own(tmp_path: Path) -> None:
    samples = load(coco(tmp_path), options=OPTIONS)
    assert samples.ids == ("pictures/one.png#10", "pictures/one.png#11", "pictures/one.png#13")
    assert [samples.class_names[label] for label in samples.labels] == ["red", "blue", "blue"]
    assert middles(samples)[:2] == [[255, 0, 0], [0, 0, 255]]
    assert [problem.id for problem in samples.problems] == ["lost.png#12"]
    # A box outside the picture is an unreadable image, as a damaged file would be.
    assert [problem.reason[:7] for problem in samples.pixels.problems] == ["the box"]  # type: ignore[attr-defined]
    elsewhere = load(coco(tmp_path), options=ReadOptions(num_workers=0, root=tmp_path))
    assert elsewhere.pixels.size == (8, 8) and has_split(tmp_path / "instances.json", "train")


@pytest.mark.parametrize(
    "changes", [{"images": None}, {"annotations": [{"id": 1}]}, {"annotations": [{"id": 1, "bbox": [1, 2]}]}]
)
def test_files_that_are_not_coco(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="is no COCO file"):
        load(coco(tmp_path, **changes), options=OPTIONS)


def test_yolo_boxes_are_images_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    folder = yolo(tmp_path / "set")
    samples = load(folder, options=OPTIONS)
    assert samples.ids == ("images/train/one.png#1", "images/train/one.png#3")
    assert [samples.class_names[label] for label in samples.labels] == ["red", "blue"]
    assert middles(samples) == [[255, 0, 0], [0, 0, 255]]
    assert has_split(folder, "test")
    assert load(folder, "test", class_names=samples.class_names, options=OPTIONS).ids[0] == "images/val/one.png#1"


def test_the_other_order_of_folders_and_a_list_of_names(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    scene(tmp_path / "train" / "images" / "one.png")
    (tmp_path / "train" / "labels").mkdir()
    (tmp_path / "train" / "labels" / "one.txt").write_text("0 0.2 0.3 0.2 0.4\n1 0.6 0.7 0.2 0.4\n")
    (tmp_path / "any.yml").write_text("names: [red, blue]\n")
    assert middles(load(tmp_path, options=OPTIONS)) == [[255, 0, 0], [0, 0, 255]]
    assert not has_split(tmp_path, "test")


def test_spoilt_yolo_files(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    folder = yolo(tmp_path / "set")
    (folder / "labels" / "train" / "one.txt").write_text("9 0.2 0.3 0.2 0.4\n")
    with pytest.raises(DataError, match="is no box"):
        load(folder, options=OPTIONS)
    (folder / "data.yaml").write_text("nothing: here\n")
    with pytest.raises(DataError, match="no readable class names"):
        load(folder, options=OPTIONS)
