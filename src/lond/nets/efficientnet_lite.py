"""EfficientNet-Lite0 to Lite2, small ImageNet networks without squeeze-and-excitation and with ReLU6.

The published weights were trained in TensorFlow: convolutions pad like its "SAME" mode, which for a stride of two adds
more pixels at the bottom and on the right than at the top and on the left.
Architecture: https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

_STEM = 32
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


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 without its classifier: images ``(B, in_channels, H, W)`` to features ``(B, 1280)``.

    Args:
        in_channels: Colour channels of the input.

    Attributes:
        feature_size: 1280.
        native_size: Side of the images that the published weights were trained on.
        input_mean: What to subtract from each channel of an image in [0, 1].
        input_std: What to divide each channel by afterwards.
    """

    feature_size = _FEATURE_SIZE
    native_size: ClassVar[int] = 224
    _wider: ClassVar[float] = 1.0
    _deeper: ClassVar[float] = 1.0

    def __init__(self, in_channels: int = 3) -> None:
        """Build the network with random weights."""
        super().__init__()
        self.input_mean = (127 / 255,) * in_channels
        self.input_std = (128 / 255,) * in_channels
        self.stem = _ConvNorm(in_channels, _STEM, kernel=3, stride=2)
        blocks: list[nn.Module] = []
        channels = _STEM
        for place, stage in enumerate(_STAGES):
            wide = _widened(stage.channels, self._wider)
            for repeat in range(_repeats(place, self._deeper)):
                stride = stage.stride if repeat == 0 else 1
                blocks.append(_Block(channels, wide, stage.kernel, stride, stage.expansion))
                channels = wide
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


class EfficientNetLite1(EfficientNetLite0):
    """EfficientNet-Lite1: deeper than Lite0, for images of 240 pixels."""

    native_size = 240
    _deeper = 1.1


class EfficientNetLite2(EfficientNetLite0):
    """EfficientNet-Lite2: wider and deeper than Lite0, for images of 260 pixels."""

    native_size = 260
    _wider = 1.1
    _deeper = 1.2


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


def _same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the pixels to add before and after, so that the output has ceil(size / stride)."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _widened(channels: int, factor: float) -> int:
    """Return channels times ``factor``, rounded to a multiple of 8 and by less than a tenth downwards."""
    rounded = max(8, int(channels * factor + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels * factor else rounded


def _repeats(place: int, factor: float) -> int:
    """Return the blocks of the stage at a place; the first and the last stage are of one depth in all variants."""
    repeats = _STAGES[place].repeats
    return repeats if place in (0, len(_STAGES) - 1) else math.ceil(repeats * factor)
