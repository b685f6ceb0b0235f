"""A record as text and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from lond.errors import DataError
from lond.results import DataPart, DetectorRecord, Machine, Record, Seeds
from lond.results.text import from_object, to_text

RECORD = Record(
    identity="i",
    variant="v",
    method="sed",
    data="mini80",
    noise="sym50",
    scale="mini",
    seeds=Seeds(1, 2, 3),
    config={"train": {"epochs": 2}},
    machine=Machine(threads=2),
    fingerprint={"train": DataPart(9, "p", "l")},
    epochs=2,
    metrics={"accuracy": 0.5, "auroc": None},
    detectors=(DetectorRecord("knn", "all", {"auroc": 0.5}),),
    curves={"accuracy": (None, 0.5)},
)


def test_what_is_written_is_read() -> None:
    content = json.loads(to_text(RECORD))
    assert from_object(content) == RECORD
    assert content["name"] == RECORD.name


def test_an_entry_is_a_line_and_what_is_not_finite_is_null() -> None:
    text = to_text(replace(RECORD, metrics={"accuracy": math.nan, "loss": math.inf}))
    assert ' "metrics": {"accuracy": null, "loss": null},' in text.splitlines()
    assert len(text.splitlines()) == len(json.loads(text)) + 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": 2}, "of schema 2; this version of lond reads 1"),
        ({"epochs": "two"}, r"damaged \(epochs is 'two'; it must be of type int\)"),
        ({"seeds": {}}, r"damaged \(seeds\.training is missing\)"),
        ({"metric": {}}, r"damaged \(unknown key 'metric'; did you mean 'metrics'\?\)"),
        ({"epochs": 3}, "curves.accuracy has 2 values for 3 epochs"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        from_object(json.loads(to_text(RECORD)) | change)


def test_any_other_object_is_no_record() -> None:
    with pytest.raises(DataError, match="not a record of a run"):
        from_object({"runs": 3})
