"""The paper's names, and that ours exist."""

from __future__ import annotations

from lond.data.benchmarks import EXTENTS
from lond.detect import DETECTORS
from lond.methods import METHODS
from lond.paper.names import (
    CIFAR_NOISES,
    DATA_SETS,
    DETECTOR_NAMES,
    METHOD_NAMES,
    NOISE_NAMES,
    PRINTED_NOISE,
    TASKS,
    VENUES,
    WEB_SETS,
)
from lond.presets.benchmarks import PRESETS


def test_every_name_of_ours_is_known() -> None:
    assert set(METHOD_NAMES.values()) <= set(METHODS)
    assert set(DETECTOR_NAMES.values()) <= set(DETECTORS)
    assert {data.benchmark for data in DATA_SETS.values()} <= set(EXTENTS)
    for names in (METHOD_NAMES, DETECTOR_NAMES, NOISE_NAMES):
        assert len(set(names.values())) == len(names)


def test_every_method_but_the_plain_one_and_ours_was_published_somewhere() -> None:
    assert set(VENUES) == set(METHOD_NAMES) - {"Standard", "Ours"}


def test_noises_have_presets_of_their_rate() -> None:
    assert {PRINTED_NOISE[own]: own for own in PRINTED_NOISE} == NOISE_NAMES
    assert set(CIFAR_NOISES) < set(PRINTED_NOISE)
    for printed, own in NOISE_NAMES.items():
        noise = PRESETS[f"cifar80n-{own}"].data.benchmark.noise
        assert printed.lower().startswith(noise.kind[: 3 if noise.kind == "symmetric" else 4])
        assert printed.endswith(f"-{100 * noise.closed_rate:.0f}%")


def test_opened_sets_are_named_by_what_is_added() -> None:
    opened = {name: data for name, data in DATA_SETS.items() if data.open_set}
    assert [name for name in DATA_SETS if "+" in name] == list(opened)
    for name, data in opened.items():
        assert name == f"{data.benchmark}+{data.open_set}-{data.open_images // 1000}k"
        assert data.printed.endswith(f"{data.open_images // 1000}K")
    assert set(WEB_SETS) == {name for name in DATA_SETS if name.startswith("web-")}


def test_tasks() -> None:
    assert [task.name for task in TASKS] == ["LOND", "LCND", "LRND"]
    assert all(task.closed_in_training for task in TASKS)
    assert [(task.open_in_training, task.open_in_test) for task in TASKS] == [
        (True, True), (False, False), (True, False),
    ]  # fmt: skip
