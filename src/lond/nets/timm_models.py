"""Backbones of the timm library, an optional extra."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lond.errors import ConfigError, LondError, MissingDependencyError


def import_timm() -> ModuleType:
    """Import timm, also where torchvision came without its compiled operators.

    timm imports torchvision, and torchvision describes its operators ``nms`` and ``qnms`` while it is imported. A
    torchvision wheel whose compiled part does not load has no such operators, and the import fails with "operator
    torchvision::nms does not exist". No backbone uses them, so it is enough to declare the two names. They are only
    declared after torchvision has failed, since a complete torchvision could not declare them a second time.

    Raises:
        MissingDependencyError: If timm or torchvision is not installed.
    """
    try:
        try:
            importlib.import_module("torchvision")
        except RuntimeError as error:
            if "torchvision::nms" not in str(error):
                raise
            _declare_torchvision_operators()
        return importlib.import_module("timm")
    except ImportError as error:
        raise MissingDependencyError(f"timm cannot be imported ({error}): pip install 'lond[timm]'") from error


def timm_backbone(
    name: str,
    pretrained: bool = False,
    in_channels: int = 3,
    image_size: tuple[int, int] | None = None,
    checkpoint_path: str | Path | None = None,
) -> nn.Module:
    """Build a timm model without its classifier: images to features ``(B, feature_size)``.

    Args:
        name: timm's name of the model, e.g. "resnet50".
        pretrained: Download the published weights.
        in_channels: Colour channels of the input; timm adapts published weights.
        image_size: Height and width of the input, needed by models of a fixed input size (vision transformers).
        checkpoint_path: A local weight file in timm's format, loaded instead of a download.

    Returns:
        The model with attributes ``feature_size`` and, if it has published weights, ``input_mean`` and ``input_std``.

    Raises:
        ConfigError: If timm does not know the model, or the weight file does not fit.
        LondError: If the weights cannot be downloaded.
        MissingDependencyError: If timm is not installed.
    """
    timm = import_timm()
    _check_name(timm, name, pretrained and checkpoint_path is None)
    options: dict[str, Any] = {"num_classes": 0, "in_chans": in_channels}
    published: Any = timm.get_pretrained_cfg(name)
    if image_size is not None and published is not None and published.fixed_input_size:
        options["img_size"] = image_size
    download = pretrained and checkpoint_path is None
    try:
        model: Any = timm.create_model(name, pretrained=download, **options)
    except Exception as error:
        if not download:
            raise ConfigError(f"timm cannot build {name!r} with {options}: {error}") from error
        raise LondError(
            f"the weights of timm:{name} could not be downloaded ({type(error).__name__}: {error}). Download them "
            "elsewhere and pass the file as checkpoint_path, or set pretrained to false"
        ) from error
    if checkpoint_path is not None:
        _load_file(timm, model, Path(checkpoint_path))
    # What reaches the classifier; some models widen num_features once more in their head.
    model.feature_size = int(getattr(model, "head_hidden_size", None) or model.num_features)
    if pretrained or checkpoint_path is not None:
        model.input_mean = _per_channel(model.pretrained_cfg["mean"], in_channels)
        model.input_std = _per_channel(model.pretrained_cfg["std"], in_channels)
    assert isinstance(model, nn.Module)
    return model


def _declare_torchvision_operators() -> None:
    for operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def _check_name(timm: ModuleType, name: str, needs_weights: bool) -> None:
    """Check that timm knows the name; addresses such as ``hf-hub:owner/model`` are left to timm."""
    if ":" in name:
        return
    if not timm.is_model(name):
        close = difflib.get_close_matches(name, timm.list_models(), n=3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise ConfigError(f"timm has no model {name!r}{hint} (timm.list_models() lists all)")
    if needs_weights and not timm.is_model_pretrained(name):
        raise ConfigError(f"timm has no published weights of {name!r}: set pretrained to false")


def _load_file(timm: ModuleType, model: nn.Module, path: Path) -> None:
    """Load a weight file completely; only the classifier it may hold beyond that is left out."""
    if not path.is_file():
        raise ConfigError(f"there is no weight file {path}")
    try:
        result: Any = timm.models.load_checkpoint(model, str(path), strict=False, weights_only=True)
    except Exception as error:
        raise ConfigError(f"the weight file {path} does not fit the backbone: {error}") from error
    if result.missing_keys:
        raise ConfigError(
            f"the weight file {path} lacks {len(result.missing_keys)} of the backbone's tensors, first "
            f"{result.missing_keys[0]!r}: is it of another model?"
        )


def _per_channel(values: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """Return one value per channel; for images of other than three channels, the mean over red, green and blue."""
    return tuple(values) if len(values) == channels else (sum(values) / len(values),) * channels
