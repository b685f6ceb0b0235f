"""The columns of Datalab."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from audit.formats.format_samples import audited_folder, labels_of
from audit.page.page_samples import make_table

from lond.audit.formats.datalab import copy_groups, datalab_columns, read, write


def test_columns_by_hand() -> None:
    table = replace(
        make_table(4),
        id=("a", "b", "c", "d"),
        verdict=("clean", "mislabelled", "foreign", "clean"),
        label=("cat", "cat", "dog", "dog"),
        suggested_label=("cat", "dog", "", "dog"),
        confidence=(0.9, 0.8, math.nan, 0.7),
        wrong_score=(0.1, 0.7, 0.2, 0.3),
        foreign_score=(0.05, 0.1, 0.8, 0.2),
        p_value=(math.nan,) * 4,
        duplicate_of=("", "", "", "a"),
        quality=((), ("dark",), (), ("odd shape", "animated")),
    )
    found = datalab_columns(table)
    assert found["is_label_issue"] == [False, True, False, False]
    assert found["label_score"] == pytest.approx([0.9, 0.3, 0.8, 0.7])
    assert found["is_outlier_issue"] == [False, False, True, False]
    assert found["outlier_score"] == pytest.approx([0.95, 0.9, 0.2, 0.8])
    assert found["near_duplicate_sets"] == [[3], [], [], [0]]
    assert found["is_near_duplicate_issue"] == [True, False, False, True]
    assert found["is_dark_issue"] == [False, True, False, False]
    assert found["is_odd_aspect_ratio_issue"] == [False, False, False, True]


def test_older_audits_and_unlabelled_images() -> None:
    table = replace(
        make_table(4),
        label=("cat", "cat", "dog", ""),
        suggested_label=("cat", "dog", "", "dog"),
        confidence=(0.9, 0.8, math.nan, 0.7),
        wrong_score=(math.nan,) * 4,
        p_value=(1.0, 0.5, 0.01, math.nan),
    )
    found = datalab_columns(table)
    assert found["label_score"][:2] == pytest.approx([0.9, 0.2]) and all(map(math.isnan, found["label_score"][2:]))
    assert found["outlier_score"][:3] == [1.0, 0.5, 0.01]


def test_groups_join_chains_and_forget_strangers() -> None:
    table = replace(make_table(5), id=tuple("abcde"), duplicate_of=("", "a", "b", "elsewhere", ""))
    assert copy_groups(table) == [[0, 1, 2], [0, 1, 2], [0, 1, 2], [3], [4]]


def test_round_trip(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    (path,) = write(tmp_path, table)
    assert {name: label for name, label in read(tmp_path).items() if label and name in labels_of(table)} == labels_of(
        table
    )
    assert list(read(path)) == list(table.id)
    row = next(csv.DictReader(path.open(encoding="utf-8")))
    assert row["is_label_issue"] in ("True", "False") and set(datalab_columns(table)) == set(row)
