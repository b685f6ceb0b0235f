"""Results of version 0.1.0 are found by the run as that version made it, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from lond.config import RunConfig
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, mini80, preset
from lond.presets.earlier import as_first_released
from lond.presets.features import on_frozen
from lond.presets.scaling import with_method
from lond.results import scan, variant_of
from lond.results.records import Record

STORE = Path(__file__).parents[2] / "results/store"
CHANGED = {"lond-drs", "npn-hard", "npn-soft", "sed", "unicon", "jo-src"}
"""Methods with other defaults than in version 0.1.0."""


def config_of(record: Record) -> RunConfig:
    """Return today's configuration of a record's preset and method."""
    if record.preset:
        config = preset(record.preset, record.method)
    else:
        noise = record.config["data"]["benchmark"]["noise"]
        config = with_method(mini80(noise["kind"], noise["closed_rate"]), record.method)
    return on_frozen(config) if record.scale == "frozen" else config


def test_stored_runs_are_recognised() -> None:
    records = [
        record
        for record in scan(STORE)[0]
        if not record.changes and record.versions["lond"] == "0.1.0" and record.config["settings"]
    ]
    first = {variant_of(as_first_released(config_of(record))) for record in records}
    known = [record for record in records if record.variant in first]
    assert len(known) > 40 and {record.method for record in known} == {record.method for record in records}
    for record in known:
        new = config_of(record)
        assert (variant_of(as_first_released(new)) == record.variant) or record.variant == variant_of(new)
        if record.method in CHANGED:
            assert variant_of(new) != record.variant, record.name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["cifar80n-sym20", "mini80-sym50", "digits"])
def test_what_has_changed_since(method: str, name: str) -> None:
    config = preset(name, method)
    for new in (config, on_frozen(config)):
        old = as_first_released(new)
        limited = (name, method) == ("mini80-sym50", "cir-plus") and not new.data.frozen.backbone
        other_steps = method == "cir-plus" and not name.startswith("cifar")
        assert (old != new) is (method in CHANGED or limited or other_steps)
        assert as_first_released(old) == old
        assert (old.data, old.net, old.views, old.optimiser) == (new.data, new.net, new.views, new.optimiser)


def test_by_hand() -> None:
    soft = as_first_released(preset("mini80-sym50", "npn-soft"))
    assert (soft.settings.clamp_logits, soft.settings.ramp_epochs, soft.train.max_steps) == (False, 0, 0)
    cir = as_first_released(preset("mini80-asym40", "cir-plus"))
    assert (cir.settings.iterations, cir.train.max_steps) == (0, 50)
    assert as_first_released(preset("cifar80n-sym20", "cir-plus")).settings.iterations == 900
    unicon = as_first_released(preset("mini80-asym40", "unicon"))
    assert (unicon.settings.natural_log, unicon.train.max_steps) == (False, 35)
    assert as_first_released(on_frozen(preset("mini80-asym40", "unicon"))).train.max_steps == 150
    assert as_first_released(PRESETS["digits"]).settings.mixed_pairs == "minor"
