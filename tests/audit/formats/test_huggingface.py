"""The folder for Hugging Face."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit.formats.format_samples import audited_folder, labels_of
from PIL import Image

from lond.audit.formats.huggingface import read, write
from lond.errors import DataError


def test_round_trip_keeps_ids_labels_and_pictures(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    write(tmp_path / "out", table, tmp_path / "set")
    readable = [row for row, verdict in enumerate(table.verdict) if verdict != "unreadable"]
    found = read(tmp_path / "out")
    assert {name: label for name, label in found.items() if label} == labels_of(table)
    assert list(found) == [table.id[row] for row in readable]
    with pytest.raises(DataError, match="no metadata of an exported audit"):
        read(tmp_path)


def test_the_library_loads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = audited_folder(tmp_path / "set", 24)
    write(tmp_path / "out", table, tmp_path / "set")
    loaded = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    loaded = loaded["train"]
    given = dict(zip(loaded["id"], loaded["label"], strict=True))
    assert {name: label for name, label in given.items() if label} == labels_of(table)
    place = (
        loaded["id"].index(table.id[20]) if isinstance(loaded["id"], list) else list(loaded["id"]).index(table.id[20])
    )
    original = np.asarray(Image.open(tmp_path / "set" / table.path[20]))
    assert np.array_equal(np.asarray(loaded[place]["image"]), original)


def test_the_library_reads_labels_as_classes(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = audited_folder(tmp_path / "set", 24)
    names = ("plain", 'say "no"', "back\\slash", "日本語 \U0001f41f", "tab\there", "no", "1", "")
    labels = tuple(names[at % len(names)] for at in range(24))
    table = replace(table, label=labels, verdict=("clean",) * 24)
    write(tmp_path / "out", table, tmp_path / "set")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["train"]
    kind = loaded.features["label"]
    assert isinstance(kind, datasets.ClassLabel) and kind.names == sorted({*names} - {""})
    found = ["" if number is None else kind.int2str(number) for number in loaded["label"]]
    assert dict(zip(loaded["id"], found, strict=True)) == dict(zip(table.id, labels, strict=True))
    assert loaded.features["foreign_score"].dtype == "float64" and loaded.features["verdict"].dtype == "string"


def test_numbers_for_labels_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "metadata.jsonl"
    file.write_text('{"id": "a", "label": 3}\n')
    with pytest.raises(DataError, match="numbers for labels; write the names of the classes"):
        read(file)


def test_decisions_and_groups_of_copies_are_part_of_it(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set", 20)
    readable = next(at for at, verdict in enumerate(table.verdict) if verdict != "unreadable")
    words = tuple("keep" if at == readable else "" for at in range(20))
    write(tmp_path / "out", replace(table, decided=words, copy_group=("7",) * 20), tmp_path / "set")
    lines = (tmp_path / "out" / "train" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    entries = {entry["id"]: entry for entry in map(json.loads, lines)}
    assert [name for name, entry in entries.items() if entry["decided"]] == [table.id[readable]]
    assert {entry["copy_group"] for entry in entries.values()} == {"7"}


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set", 20)
    with pytest.raises(DataError, match="give the audited folder as root"):
        write(tmp_path / "out", table, tmp_path)
    assert not (tmp_path / "out").exists()


def test_what_the_library_saves_comes_back(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = audited_folder(tmp_path / "set", 24)
    write(tmp_path / "out", table, tmp_path / "set")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    names = loaded["train"].features["label"].names
    place = next(at for at, label in enumerate(loaded["train"]["label"]) if label)
    name = loaded["train"][place]["id"]

    def change(row: dict[str, object]) -> dict[str, object]:
        return {"label": 0} if row["id"] == name else {}

    changed = loaded["train"].map(change, cache_file_name=str(tmp_path / "changed.arrow"))
    changed.save_to_disk(tmp_path / "one")
    datasets.DatasetDict(train=changed.select(range(9)), rest=changed.select(range(9, len(changed)))).save_to_disk(
        tmp_path / "several"
    )
    changed.remove_columns("image").to_parquet(tmp_path / "set.parquet")
    expected = read(tmp_path / "out") | {name: names[0]}
    for saved in ("one", "several", "set.parquet"):
        assert read(tmp_path / saved) == expected, saved
    changed.remove_columns("image").to_json(tmp_path / "set.jsonl")
    with pytest.raises(DataError, match="save the set with save_to_disk or to_parquet"):
        read(tmp_path / "set.jsonl")


def test_other_files_are_refused_in_a_line(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    file = tmp_path / "damaged.parquet"
    file.write_bytes(bytes(range(256)) * 100)
    with pytest.raises(DataError, match="no saved set with the columns id and label") as caught:
        read(file)
    assert len(str(caught.value)) < 400 + len(str(file))
    (tmp_path / "metadata.jsonl").write_bytes(bytes(range(256)) * 100)
    with pytest.raises(DataError, match="no metadata of an exported audit") as caught:
        read(tmp_path / "metadata.jsonl")
    assert len(str(caught.value)) < 400 + len(str(file))
