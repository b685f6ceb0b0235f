"""The seven-layer CNN of the CIFAR experiments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lond.errors import ConfigError

_LAST_CHANNELS = 16
_SMALLEST_SIDE = 8


class SevenLayerCNN(nn.Module):
    """Six 3x3 convolutions in three blocks, each block halving the image; 256 features at 32 x 32.

    Args:
        in_channels: Colour channels of the input.
        width: Factor on the 64, 128 and 196 channels (rounded, at least 8). The last 16 channels stay, so the
            feature size does not depend on it.
        image_size: Height and width of the input, at least 8 pixels each.

    Attributes:
        blocks: The three blocks, for those who need the maps before the flatten.
        feature_size: Length of one feature vector, ``16 * (H // 8) * (W // 8)``.

    Raises:
        ConfigError: If the images are too small to be halved three times, or the width is not positive.
    """

    def __init__(self, in_channels: int = 3, width: float = 1.0, image_size: tuple[int, int] = (32, 32)) -> None:
        """Build the network."""
        super().__init__()
        height, image_width = image_size
        if min(image_size) < _SMALLEST_SIDE:
            raise ConfigError(
                f"the seven-layer CNN halves the image three times and needs at least {_SMALLEST_SIDE} x "
                f"{_SMALLEST_SIDE} pixels, not {height} x {image_width}: enlarge the images (an image size of 32 is "
                "usual) or pass a backbone of your own"
            )
        if not width > 0:
            raise ConfigError(f"width must be larger than 0, not {width}")
        first, second, third = (max(8, round(width * channels)) for channels in (64, 128, 196))
        self.blocks = nn.ModuleList(
            [
                _block(in_channels, first, first),
                _block(first, second, second),
                _block(second, third, _LAST_CHANNELS),
            ]
        )
        self.feature_size = _LAST_CHANNELS * (height // 8) * (image_width // 8)

    def forward(self, x: Tensor) -> Tensor:
        """Map images ``(B, C, H, W)`` to features ``(B, feature_size)``."""
        return torch.flatten(self.maps(x)[1], 1)

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs ``(B, K, h, w)`` of the last block but one and of the last block."""
        first, second, third = self.blocks
        earlier = second(first(x))
        return earlier, third(earlier)

    def after(self, block: int, maps: Tensor) -> Tensor:
        """Return the features that follow from the maps of the last block (0) or of the one before it (1)."""
        return torch.flatten(self.blocks[2](maps) if block == 1 else maps, 1)


def _block(in_channels: int, middle: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_channels, middle, kernel_size=3, padding=1),
        nn.BatchNorm2d(middle),
        nn.ReLU(inplace=True),
        nn.Conv2d(middle, out_channels, kernel_size=3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )
