"""Groups of repeated runs, with means and deviations."""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from results.run_samples import EPOCHS, small, write_run

from lond.errors import ConfigError
from lond.results import (
    Group,
    Record,
    Summary,
    group,
    record_of,
    select,
    variant_of,
)
from lond.results.groups import epoch_values, over_last

ACCURACY = {0: 0.5, 1: 0.6, 2: 0.55}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Three seeds of LOND-DRS and one of cross-entropy at 50 %, one of LOND-DRS at asymmetric 40 %."""
    root = tmp_path_factory.mktemp("runs")
    found = [record_of(write_run(root / f"a{s}", small(seed=s), accuracy=a)) for s, a in ACCURACY.items()]
    found.append(record_of(write_run(root / "b", small(method="standard"), accuracy=0.4, detectors=True)))
    found.append(record_of(write_run(root / "c", small("mini80-asym40"), accuracy=0.7), scale="mini"))
    return found


def test_groups_have_mean_deviation_and_n(records: list[Record]) -> None:
    groups = group(records)
    assert [tuple(one.key.values()) for one in groups] == [
        ("lond-drs", "mini80", "asym40"), ("lond-drs", "mini80", "sym50"), ("standard", "mini80", "sym50"),
    ]  # fmt: skip
    values = [accuracy - 0.01 for accuracy in ACCURACY.values()]
    found = groups[1].summary("accuracy")
    assert groups[1].n == found.n == 3
    assert found.mean == pytest.approx(sum(values) / 3)
    assert found.deviation == pytest.approx(statistics.stdev(values))
    assert groups[0].summary("accuracy") == Summary(1, records[4].metrics["accuracy"], None)
    assert groups[0].summary("msp.auroc") == Summary(0, None, None, lacking=1)
    (both,) = group(select(records, noise="sym50", seed=0), ["data"])
    assert both.summary("msp.auroc") == Summary(1, 0.7, None, lacking=1)
    assert group([]) == []


def test_a_figure_that_could_not_be_computed_does_not_count(records: list[Record]) -> None:
    broken = replace(records[0], metrics={"accuracy": None})
    (one,) = group([broken, *records[1:3]], ["method"])
    assert one.summary("accuracy").n == 2
    assert one.summary("accuracy").lacking == 1


def test_metrics_over_fewer_epochs_by_hand(records: list[Record]) -> None:
    shorter = over_last(records[0], 2)
    assert shorter.mean_over_last == 2
    assert shorter.metrics["accuracy"] == pytest.approx((0.49 + 0.5) / 2)
    assert shorter.metrics["auroc"] == pytest.approx(0.6)
    assert over_last(records[0], 3) is records[0]
    gap = replace(records[0], curves={"accuracy": (0.1, None, 0.3)})
    assert (over_last(gap, 1).metrics, over_last(gap, 2).metrics) == ({"accuracy": 0.3}, {"accuracy": None})


def test_values_by_epoch_of_runs_that_lack_some(records: list[Record]) -> None:
    long = replace(records[0], curves={"accuracy": (0.25, 0.5, None)})
    short = replace(records[0], curves={"accuracy": (0.75,), "auroc": (0.5,)})
    assert epoch_values([long, short], "accuracy") == [(1, [0.25, 0.75]), (2, [0.5])]
    assert epoch_values([long, short], "auroc") == [(1, [0.5])]
    assert epoch_values([], "auroc") == []


def test_what_a_group_mixes(records: list[Record], tmp_path: Path) -> None:
    assert group(records)[1].mixed() == []
    assert group(records, ["method"])[0].mixed() == [
        "data.benchmark.noise.kind", "data.benchmark.noise.closed_rate", "settings.identify.top",
    ]  # fmt: skip
    batch = record_of(write_run(tmp_path, small(batch_size=64)))
    assert group([*records[:3], batch])[0].mixed() == ["train.batch_size"]
    parts = group([*records[:3], batch], ["method", "changes"])
    assert [(one.key["changes"], one.n) for one in parts] == [
        (f"train.epochs={EPOCHS}", 3), (f"train.epochs={EPOCHS}, train.batch_size=64", 1),
    ]  # fmt: skip
    assert len(group([*records[:3], batch], ["variant"])) == 2


def test_what_tells_the_runs_of_a_group_apart(records: list[Record]) -> None:
    (everything,) = group(records, by=())
    assert everything.apart()[0] == "method" and "variant" not in everything.apart()
    assert Group({}, (records[0], replace(records[0], changes={"train.epochs": 3}))).apart() == ["changes"]
    assert Group({}, (records[0], replace(records[0], variant="other"))).apart() == ["variant"]
    assert Group({}, (records[0],)).apart() == []
    assert group(records, by="method") == group(records, by=("method",))


def test_grouping_by_what_is_not_there(records: list[Record]) -> None:
    with pytest.raises(ConfigError, match="cannot be grouped by 'weather'; choose from: method"):
        group(records, ["weather"])


def test_repetitions_are_found_by_their_configuration(records: list[Record]) -> None:
    wanted = variant_of(small(seed=7))
    assert [record for record in records if record.variant == wanted] == records[:3]


def test_reading_loads_no_network() -> None:
    code = "import sys, lond.results; print(sorted({'torch', 'numpy', 'lond.config'} & sys.modules.keys()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_another_name_is_an_attribute_error() -> None:
    import lond.results

    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = lond.results.magic
