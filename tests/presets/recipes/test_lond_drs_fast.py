"""The fast variant is published LOND-DRS with savings, in batches of half the size on images, at every scale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lond.methods import LondDrsFastSettings, Savings
from lond.methods.lond_drs_fast import FAST
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.changes import with_epochs
from lond.presets.features import on_frozen


@pytest.mark.parametrize("name", PRESETS)
def test_everything_else_is_that_of_lond_drs(name: str) -> None:
    published, fast = preset(name), preset(name, "lond-drs-fast")
    half = replace(published, train=replace(published.train, batch_size=published.train.batch_size // 2))
    for one, other in ((half, fast), (on_frozen(published), on_frozen(fast))):
        assert isinstance(other.settings, LondDrsFastSettings) and other.settings.savings == FAST
        assert {**vars(other.settings), "savings": Savings()} == vars(one.settings)
        assert replace(other, method=one.method, settings=one.settings) == one
    assert with_epochs(fast, 6).settings.warmup_epochs == with_epochs(published, 6).settings.warmup_epochs


def test_chosen_savings_stay_on_features() -> None:
    fast = preset("digits", "lond-drs-fast")
    chosen = replace(fast, settings=replace(fast.settings, savings=Savings(identify_every=3)))
    assert on_frozen(chosen).settings.savings == Savings(identify_every=3)
