"""From a configuration to an untrained method and its views."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from lond.config import OWN_MODULE, NetSettings, RunConfig, settings_class
from lond.data.feature_views import FeatureViews
from lond.data.views import ViewMaker, Views
from lond.errors import ConfigError
from lond.methods import ALL_METHODS, Method, Task
from lond.nets.backbones import Backbone, build_backbone
from lond.runs.data import Shape
from lond.seeds import own_random_state

FEATURES = "features"
"""The backbone of runs on features that were computed beforehand."""


def build(
    config: RunConfig,
    shape: Shape,
    labels: Tensor,
    backbone: nn.Module | None = None,
    confirmed: Tensor | None = None,
) -> tuple[Method, Views]:
    """Return the untrained method and its views; ``backbone`` is a module to copy instead of the configured one.

    ``confirmed`` ``(N,)`` marks labels that a person gave or confirmed.

    Raises:
        ConfigError: the settings are not those of the method, or the backbone cannot be built.

    Examples:
        >>> import torch
        >>> from lond import preset
        >>> from lond.runs import Shape
        >>> method, views = build(preset("digits"), Shape(("0", "1"), 1, (16, 16)), torch.tensor([0, 1]))
        >>> type(method).__name__, type(views).__name__
        ('LondDrs', 'ViewMaker')
    """
    if not isinstance(config.settings, settings_class(config.method)):
        found, wanted = type(config.settings).__name__, settings_class(config.method).__name__
        raise ConfigError(f"method {config.method!r} needs settings of type {wanted}, not {found}")
    if backbone is None and config.net.backbone.startswith(OWN_MODULE):
        name = config.net.backbone.removeprefix(OWN_MODULE)
        raise ConfigError(
            f"the run was trained with a module of your own, {name}: in Python, "
            f"load it with lond.LondClassifier.load(folder, backbone={name}(...))"
        )
    if config.data.frozen.backbone and config.net.backbone != FEATURES:
        raise ConfigError(
            f"data.frozen.backbone turns images into features, on which {config.net.backbone!r} cannot stand: "
            f"set net.backbone={FEATURES}, or let lond.presets.benchmarks.on_frozen choose all settings"
        )
    views = config.views

    def fresh_backbone() -> Backbone:
        net: NetSettings = config.net
        options: dict[str, Any] = {"in_channels": shape.channels, "image_size": shape.size}
        if backbone is not None:
            return build_backbone(copy.deepcopy(backbone), **options)
        return build_backbone(
            net.backbone, width=net.width, pretrained=net.pretrained, checkpoint_path=net.checkpoint_path, **options
        )

    task = Task(labels, len(shape.class_names), fresh_backbone, confirmed)
    with own_random_state(config.train.seed, "initial weights"):
        method: Method = ALL_METHODS[config.method](config.settings, task)
    if config.net.backbone == FEATURES:
        return method, FeatureViews(config.features)
    for module in method.modules():
        # Pretrained weights expect the normalisation they were trained with.
        mean, std = getattr(module, "input_mean", None), getattr(module, "input_std", None)
        if mean is not None and std is not None and shape.channels == 3:
            views = replace(views, mean=tuple(mean), std=tuple(std))
            break
    return method, ViewMaker(views, shape.channels)
