"""From a configuration to an untrained method and its views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from lond.config import OWN_MODULE, NetSettings, RunConfig
from lond.data.feature_views import FeatureViews
from lond.data.views import ViewMaker
from lond.errors import ConfigError
from lond.methods import StandardSettings
from lond.presets.benchmarks import preset
from lond.presets.features import on_features, on_frozen
from lond.runs.build import build
from lond.runs.data import Shape

SHAPE = Shape(("ant", "bee", "cow"), 3, (8, 8))
LABELS = torch.tensor([0, 1, 2, 0])
CONFIG = RunConfig(method="standard", settings=StandardSettings(), net=NetSettings(width=0.125))


class Own(nn.Module):
    """A backbone of a user's own, made for normalised images."""

    input_mean, input_std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(images.mean((2, 3)))


def weights(config: RunConfig, **more: Any) -> list[torch.Tensor]:
    return list(build(config, SHAPE, LABELS, **more)[0].parameters())


def test_the_seed_alone_decides_the_initial_weights() -> None:
    torch.manual_seed(1)
    first = weights(CONFIG)
    torch.manual_seed(2)
    again, other = weights(CONFIG), weights(replace(CONFIG, train=replace(CONFIG.train, seed=1)))
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, other))


def test_there_is_a_logit_for_every_class() -> None:
    method, views = build(CONFIG, SHAPE, LABELS)
    assert isinstance(views, ViewMaker)
    assert method.eval().predict(torch.zeros(2, 3, 8, 8)).probabilities.shape == (2, 3)


def test_a_module_of_ones_own_is_copied_and_sets_the_normalisation() -> None:
    own = Own()
    config = replace(CONFIG, net=NetSettings(f"{OWN_MODULE}Own"))
    method, views = build(config, SHAPE, LABELS, own)
    (copied,) = (module for module in method.modules() if isinstance(module, Own))
    assert copied is not own and torch.equal(copied.layer.weight, own.layer.weight)
    assert (views.settings.mean, views.settings.std) == (own.input_mean, own.input_std)


def test_features_have_views_of_their_own() -> None:
    _, views = build(on_features(40), Shape(("a", "b"), 6, (1, 1)), LABELS % 2)
    assert isinstance(views, FeatureViews)


def test_what_does_not_fit_says_what_to_do() -> None:
    wrong = replace(CONFIG, method="lond-drs")
    with pytest.raises(ConfigError, match="method 'lond-drs' needs settings of type LondDrsSettings, not Standard"):
        build(wrong, SHAPE, LABELS)
    with pytest.raises(ConfigError, match=r"LondClassifier\.load\(folder, backbone=Own\(\.\.\.\)\)"):
        build(replace(CONFIG, net=NetSettings(f"{OWN_MODULE}Own")), SHAPE, LABELS)
    frozen = replace(on_frozen(preset("digits")), net=NetSettings("seven-layer"))
    with pytest.raises(ConfigError, match="on which 'seven-layer' cannot stand: set net.backbone=features"):
        build(frozen, SHAPE, LABELS)
