"""Cross-entropy is trained like the method that it is compared with."""

from __future__ import annotations

import pytest

from lond.methods.standard import StandardSettings
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.recipes.base import Occasion
from lond.presets.recipes.standard import recipe


@pytest.mark.parametrize("occasion", [Occasion(), Occasion("symmetric", 0.8, "cifar10n"), Occasion("asymmetric", 0.4)])
def test_nothing_depends_on_the_data(occasion: Occasion) -> None:
    found = recipe(occasion)
    assert found.settings == StandardSettings()
    assert (found.optimiser, found.epochs, found.batch_size, found.strong) == (None,) * 4


@pytest.mark.parametrize("name", PRESETS)
def test_everything_else_is_the_presets(name: str) -> None:
    own, plain = PRESETS[name], preset(name, "standard")
    for part in ("data", "net", "views", "optimiser", "train"):
        assert getattr(plain, part) == getattr(own, part), part
