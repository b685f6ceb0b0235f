"""Which records are runs of a configuration."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from results.run_samples import small, write_run

from lond.config import RunConfig
from lond.methods import SedSettings
from lond.results import Record, Seeds, record_of
from lond.results.identity import repetitions_of, runs_of, variant_of


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    """Two seeds of one run, another batch size, and another data set of the same settings."""
    configs = [small(seed=0), small(seed=1), small(seed=0, batch_size=64)]
    found = [record_of(write_run(tmp_path / str(place), config)) for place, config in enumerate(configs)]
    return [*found, replace(found[0], identity="other", data="tiny80")]


def test_repetitions_share_settings_and_data_set(records: list[Record]) -> None:
    assert repetitions_of(small(seed=5), records) == records[:2]
    assert repetitions_of(small(batch_size=64), records) == records[2:3]
    assert repetitions_of(small(batch_size=32), records) == []


def test_runs_share_all_seeds(records: list[Record]) -> None:
    assert runs_of(small(seed=1), records) == records[1:2]
    assert runs_of(small(seed=2), records) == []
    for seeds, fits in ((Seeds(1, 0, None), True), (Seeds(1, 0, 7), False), (Seeds(1, 3, 0), False)):
        assert bool(runs_of(small(seed=1), [replace(records[1], seeds=seeds)])) is fits


def test_a_changed_default_keeps_old_hashes_and_makes_new_ones() -> None:
    """Hashes count from the first defaults: by hand, for a method of which only the changed setting is set."""
    old, new = (RunConfig(method="sed", settings=SedSettings(clamp_logits=clamp)) for clamp in (False, True))
    assert SedSettings() == new.settings
    plain = {"method": "sed", "open source": ""}
    for config, chosen in ((old, plain), (new, plain | {"settings.clamp_logits": True})):
        text = json.dumps(chosen, sort_keys=True)
        assert variant_of(config) == hashlib.sha256(text.encode()).hexdigest()[:10]


def test_data_at_hand_must_be_the_same(records: list[Record]) -> None:
    data = records[0].fingerprint
    assert runs_of(small(), records, data) == records[:1]
    assert runs_of(small(), records, {"train": replace(data["train"], images=95), "test": data["test"]}) == []
