"""What differs between two records."""

from __future__ import annotations

from dataclasses import replace

from lond.results import DataPart, Machine, Record, Seeds
from lond.results.differences import Difference, differences, flat, short

FIRST = Record(
    identity="i",
    variant="v",
    method="sed",
    data="mini80",
    noise="sym50",
    scale="mini",
    seeds=Seeds(0),
    config={"train": {"seed": 0, "epochs": 2}, "method": "sed"},
    versions={"torch": "2.9"},
    machine=Machine(threads=1),
    fingerprint={"train": DataPart(9, "p", "l")},
    epochs=2,
    metrics={"accuracy": 0.5, "seconds_of_a_step": 1.0},
    curves={"accuracy": (0.4, 0.5)},
    seconds={"train": 3.0},
)


def test_settings_facts_and_metrics_are_told_apart() -> None:
    other = replace(
        FIRST,
        config={"train": {"seed": 1, "epochs": 2}, "method": "sed", "extra": 3},
        scale="smoke",
        versions={"torch": "2.9", "numpy": "2.0"},
        fingerprint={"train": DataPart(8, "p", "l")},
        metrics={"auroc": 0.6},
        curves={"accuracy": (0.3, 0.5)},
    )
    assert differences(FIRST, other) == [
        Difference("setting", "train.seed", 0, 1),
        Difference("setting", "extra", None, 3),
        Difference("fact", "scale", "mini", "smoke"),
        Difference("fact", "data.train.images", 9, 8),
        Difference("fact", "versions.numpy", None, "2.0"),
        Difference("metric", "accuracy", 0.5, None),
        Difference("metric", "curve accuracy", (0.4, 0.5), (0.3, 0.5)),
        Difference("metric", "auroc", None, 0.6),
    ]


def test_times_do_not_count() -> None:
    slower = replace(FIRST, seconds={"train": 9.0}, finished="2026-01-31T12:00:00Z")
    slower = replace(slower, metrics={"accuracy": 0.5, "seconds_of_a_step": 3.0})
    assert differences(FIRST, slower) == []


def test_nested_settings_have_dotted_keys() -> None:
    assert flat({"a": 1, "b": {"c": {"d": None}, "e": [2]}, "f": {}}) == {"a": 1, "b.c.d": None, "b.e": [2]}


def test_a_difference_is_short() -> None:
    assert str(Difference("metric", "accuracy", 0.123456789, None)) == "accuracy: 0.123457 -> none"
    assert [short(value) for value in (0, "", 0.0, False)] == ["0", "none", "0", "False"]
