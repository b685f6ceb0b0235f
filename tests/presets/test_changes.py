"""What a method's settings declare to scale, and single changes to a run."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from lond.config import NetSettings, RunConfig
from lond.methods import METHODS
from lond.presets.benchmarks import preset
from lond.presets.changes import declared, with_epochs, with_root, with_seed, without_weights
from lond.types import Epochs, FirstEpochs, Memory


@dataclass(frozen=True)
class Settings:
    """Of a method that the package does not know."""

    burn_in: Epochs = 30
    first: FirstEpochs = 3
    kept: Memory = 0.5
    off: Epochs = 0
    classes: int = 9


def test_what_scales_is_declared_by_its_type() -> None:
    assert declared(Settings(), Epochs) == {"burn_in": 30}
    assert declared(Settings(), Epochs, FirstEpochs) == {"burn_in": 30, "first": 3}
    short = with_epochs(RunConfig(settings=Settings()), 150).settings
    assert short == Settings(burn_in=15, first=2, kept=0.25)


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_in_epochs_is_declared(method: str) -> None:
    settings = preset("cifar80n-sym80", method).settings
    in_epochs = {field.name for field in fields(settings) if field.name.endswith("_epochs")}
    assert declared(settings, Epochs, FirstEpochs).keys() == {name for name in in_epochs if getattr(settings, name)}


def test_single_changes() -> None:
    config = RunConfig(net=NetSettings(pretrained=True, checkpoint_path="weights"))
    assert with_seed(config, 5).train.seed == 5
    assert with_root(config, "there").data.benchmark.root == "there" and with_root(config, "") is config
    assert without_weights(config).net == NetSettings()
