"""Backbones: by name, from timm, or the user's own module or builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.nets.efficientnet_weights import VARIANTS, efficientnet_lite
from lond.nets.feature_trunk import FeatureTrunk
from lond.nets.seven_layer import SevenLayerCNN
from lond.nets.timm_models import timm_backbone
from lond.registry import Registry

_TIMM_PREFIX = "timm:"


@dataclass(frozen=True)
class BackboneSpec:
    """What a backbone is built for: images of ``in_channels`` and ``image_size`` (height, width), and its options."""

    in_channels: int
    image_size: tuple[int, int]
    width: float = 1.0
    pretrained: bool = False
    checkpoint_path: str | Path | None = None

    @property
    def wants_weights(self) -> bool:
        """True if the backbone starts from pretrained weights."""
        return self.pretrained or self.checkpoint_path is not None


class Backbone(NamedTuple):
    """A module that maps images ``(B, C, H, W)`` to features ``(B, feature_size)``."""

    module: nn.Module
    feature_size: int


class PooledBackbone(nn.Module):
    """Average the maps ``(B, F, h, w)`` of a module over space, to features ``(B, F)``."""

    def __init__(self, module: nn.Module) -> None:
        """Wrap the module and pass on what it says about its input."""
        super().__init__()
        self.module = module
        for name in ("input_mean", "input_std"):
            if hasattr(module, name):
                setattr(self, name, getattr(module, name))

    def forward(self, x: Tensor) -> Tensor:
        """Map images ``(B, C, H, W)`` to features ``(B, F)``."""
        maps: Tensor = self.module(x)
        return maps.mean(dim=(2, 3))


Builder = Callable[[BackboneSpec], nn.Module]
"""Builds a backbone for images of some kind."""


def _seven_layer(spec: BackboneSpec) -> nn.Module:
    if spec.wants_weights:
        raise ConfigError("there are no published weights of the seven-layer CNN: set pretrained to false")
    return SevenLayerCNN(spec.in_channels, spec.width, spec.image_size)


def _efficientnet_lite(name: str) -> Builder:
    def build(spec: BackboneSpec) -> nn.Module:
        _refuse_width(spec, name)
        return efficientnet_lite(name, spec.in_channels, spec.pretrained, spec.checkpoint_path)

    return build


def _features(spec: BackboneSpec) -> nn.Module:
    if spec.wants_weights:
        raise ConfigError("the trunk on frozen features has no published weights: set pretrained to false")
    if spec.image_size[0] != 1:
        raise ConfigError("the backbone 'features' stands on features computed beforehand; for images name a network")
    return FeatureTrunk(spec.image_size[1], spec.width)


BACKBONES: dict[str, Builder] = {
    "seven-layer": _seven_layer,
    "efficientnet-lite0": _efficientnet_lite("efficientnet-lite0"),
    "efficientnet-lite1": _efficientnet_lite("efficientnet-lite1"),
    "efficientnet-lite2": _efficientnet_lite("efficientnet-lite2"),
    "features": _features,
}
"""Name -> builder of this package; besides them every ``timm:<model>``."""

ALL_BACKBONES: Registry[Builder] = Registry(
    "backbone",
    "lond.nets",
    BACKBONES,
    lambda builder: "" if callable(builder) else "it cannot be called with a BackboneSpec",
    f" and {_TIMM_PREFIX}<model>",
)
"""These, those that were registered, and those of installed packages (entry points of the group "lond.backbones")."""


USUAL_SIZE = 224
"""Side of the images that most ImageNet networks were trained on."""


def native_size(name: str) -> int:
    """Return the side of the images that the published weights of a network were trained on, as far as it is known.

    Examples:
        >>> [native_size(name) for name in ("efficientnet-lite0", "efficientnet-lite2", "timm:resnet18")]
        [224, 260, 224]
    """
    return VARIANTS[name].network.native_size if name in VARIANTS else USUAL_SIZE


def register(builder: Builder, name: str = "") -> Builder:
    """Register your own builder by ``name``, or by its Python name.

    Raises:
        ConfigError: the name is taken, or the builder cannot be called.
    """
    return ALL_BACKBONES.register(builder, name)


def build_backbone(
    name_or_module: str | nn.Module | Builder,
    *,
    in_channels: int,
    image_size: tuple[int, int],
    width: float = 1.0,
    pretrained: bool = False,
    checkpoint_path: str | Path | None = None,
) -> Backbone:
    """Build a backbone, or take the user's own, and find the length of its features.

    A module of the user's own must map ``(B, C, H, W)`` to ``(B, F)`` or to maps ``(B, F, h, w)``, which are then
    averaged over space. It is tried once on two black images in evaluation mode.

    Args:
        name_or_module: A name in ``ALL_BACKBONES``, "timm:<model>", a module, or a function of a ``BackboneSpec`` that
            returns one.
        in_channels: Colour channels of the images.
        image_size: Their height and width.
        width: Factor on the channels of the seven-layer CNN.
        pretrained: Start from published ImageNet weights.
        checkpoint_path: A local file with such weights.

    Returns:
        The module and its feature size. A module that wants its own input normalisation has the attributes
        ``input_mean`` and ``input_std``, one value per channel, for images in [0, 1].

    Raises:
        ConfigError: If the name is unknown, settings contradict each other or the module does not fit the images.
        MissingDependencyError: If the backbone needs a package that is not installed.
        LondError: If weights cannot be downloaded.
    """
    spec = BackboneSpec(in_channels, image_size, width, pretrained, checkpoint_path)
    if isinstance(name_or_module, nn.Module):
        if spec.wants_weights or spec.width != 1.0:
            raise ConfigError("a module of your own is used as it is: leave out width, pretrained and checkpoint_path")
        return _fitted(name_or_module, spec, f"the backbone {type(name_or_module).__name__}")
    name = ALL_BACKBONES.name_of(name_or_module)
    if name.startswith(_TIMM_PREFIX):
        _refuse_width(spec, name)
        module = timm_backbone(name.removeprefix(_TIMM_PREFIX), pretrained, in_channels, image_size, checkpoint_path)
    else:
        module = ALL_BACKBONES[name](spec)
    return _fitted(module, spec, f"the backbone {name!r}")


def _refuse_width(spec: BackboneSpec, name: str) -> None:
    if spec.width != 1.0:
        raise ConfigError(f"width scales the seven-layer CNN only; leave it at 1 for {name}")


def _fitted(module: nn.Module, spec: BackboneSpec, what: str) -> Backbone:
    """Try the module on black images and return it, pooled if it gives maps, with its feature size."""
    shape = (2, spec.in_channels, *spec.image_size)
    try:
        output = _dry_run(module, shape)
    except Exception as error:
        raise ConfigError(f"{what} fails on images of shape {shape}: {error}") from error
    if not isinstance(output, Tensor) or output.dim() not in (2, 4) or len(output) != 2:
        found = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ConfigError(f"{what} must give features (B, F) or maps (B, F, h, w) for images {shape}; it gives {found}")
    size = output.shape[1]
    claimed = getattr(module, "feature_size", size)
    if claimed != size:
        raise ConfigError(f"{what} says feature_size = {claimed} but gives {size} features")
    return Backbone(PooledBackbone(module) if output.dim() == 4 else module, size)


@torch.no_grad()
def _dry_run(module: nn.Module, shape: tuple[int, ...]) -> object:
    """Run the module on zeros in evaluation mode and leave every part in the mode it was in."""
    modes = [(part, part.training) for part in module.modules()]
    sample = next((p for p in module.parameters() if p.is_floating_point()), torch.zeros(()))
    try:
        module.eval()
        output: object = module(torch.zeros(shape, dtype=sample.dtype, device=sample.device))
        return output
    finally:
        for part, training in modes:
            part.training = training
