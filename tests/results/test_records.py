"""What a record says of itself: its name, and every value under one."""

from __future__ import annotations

from lond.results import DetectorRecord, Record, Seeds

RECORD = Record(
    identity="0123abcd",
    variant="v",
    method="lond-drs",
    data="my photos/é",
    noise="",
    scale="own",
    seeds=Seeds(3),
    config={},
    epochs=4,
    metrics={"accuracy": 0.5},
    last_epoch={"accuracy": 0.6},
    verdicts={"verdict_foreign_f1": 0.25},
    detectors=(
        DetectorRecord("msp", "-", {"auroc": 0.7}),
        DetectorRecord("knn", "clean", {"auroc": None}),
    ),
    seconds={"train": 6.0, "evaluate": 2.0},
)


def test_the_name_can_be_that_of_a_file() -> None:
    assert RECORD.name == "my_photos_é-lond-drs-seed3-0123abcd"
    benchmark = Record("1", "v", "sed", "cifar100n+places-10k", "sym12.5", "full", Seeds(0), {})
    assert benchmark.name == "cifar100n+places-10k-sym12.5-sed-seed0-1"
    assert Record("1", "v", "sed", "x" * 99, "", "own", Seeds(0), {}).name == f"{'x' * 60}-sed-seed0-1"


def test_every_value_has_one_name() -> None:
    assert dict(RECORD.values()) == {
        "accuracy": 0.5,
        "verdict_foreign_f1": 0.25,
        "seconds": 8.0,
        "seconds_an_epoch": 2.0,
        "last.accuracy": 0.6,
        "msp.auroc": 0.7,
        "knn.clean.auroc": None,
    }
    assert len(list(RECORD.values())) == 7


def test_what_a_run_lacks_is_none() -> None:
    assert RECORD.value("last.accuracy") == 0.6
    assert RECORD.value("knn.clean.auroc") is RECORD.value("knn.auroc") is RECORD.value("weather") is None
    assert Record("1", "v", "sed", "d", "", "own", Seeds(0), {}).value("seconds_an_epoch") is None


def test_settings_and_values_do_not_hinder_hashing() -> None:
    assert len({RECORD, RECORD}) == 1
