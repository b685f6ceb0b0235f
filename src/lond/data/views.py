"""Weak, strong and test views of a batch: uint8 images in, normalised float32 images out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor

from lond.data.augment.geometry import crop_and_flip
from lond.data.augment.policies import STRONG_POLICIES
from lond.errors import ConfigError


@dataclass(frozen=True)
class ViewSettings:
    """Settings of views; the defaults are those of the CIFAR experiments.

    ``padding`` is the zero border in pixels that random crops may show, ``flip`` mirrors every second image,
    ``strong`` names an entry of ``STRONG_POLICIES``, ``mean`` and ``std`` normalise values in [0, 1] by channel.

    Raises:
        ConfigError: If the policy is unknown, the padding negative or a deviation not positive.

    Examples:
        >>> ViewSettings(flip=False, strong="geometric").padding
        4
    """

    padding: int = 4
    flip: bool = True
    strong: str = "autoaugment"
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        """Check that the policy is known, padding is not negative, and mean and std have three values."""
        if self.strong not in STRONG_POLICIES:
            names = ", ".join(STRONG_POLICIES)
            raise ConfigError(f"unknown strong augmentation {self.strong!r}; choose one of: {names}")
        if self.padding < 0:
            raise ConfigError(f"padding must not be negative, but is {self.padding}")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise ConfigError(f"mean and std need three values, std positive; got {self.mean} and {self.std}")


class Views(Protocol):
    """Create the views of a batch that methods are trained on.

    Examples:
        >>> maker: Views = ViewMaker(ViewSettings(), channels=3)
        >>> maker.test(torch.zeros(2, 3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 3, 8, 8])
    """

    def weak(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Return weakly augmented images; ``crop`` is False if they were cropped on reading."""

    def strong(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Return strongly augmented images."""

    def test(self, images: Tensor) -> Tensor:
        """Return the normalised images without augmentation."""


class ViewMaker:
    """Create views of uint8 ``(B, C, H, W)`` batches as float32 of the same shape, channels last in memory.

    All draws come from the given CPU generator in a fixed order, so equal states give equal views on every device.

    Examples:
        >>> maker = ViewMaker(ViewSettings(), channels=3)
        >>> images = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
        >>> maker.weak(images, torch.Generator().manual_seed(0)).shape
        torch.Size([2, 3, 8, 8])
    """

    def __init__(self, settings: ViewSettings, channels: int) -> None:
        """Prepare for images of 1 or 3 channels; one channel is normalised with the averages of the three.

        Raises:
            ConfigError: If the number of channels is neither 1 nor 3.
        """
        if channels not in (1, 3):
            raise ConfigError(f"views need images of 1 or 3 channels, not {channels}")
        self.settings = settings
        self._policy = STRONG_POLICIES[settings.strong]
        mean, std = torch.tensor(settings.mean, dtype=torch.float32), torch.tensor(settings.std, dtype=torch.float32)
        if channels == 1:
            mean, std = mean.mean(0, keepdim=True), std.mean(0, keepdim=True)
        self._scale = (1 / (255 * std)).view(1, -1, 1, 1)
        self._shift = (-mean / std).view(1, -1, 1, 1)

    def weak(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Crop out of the zero-padded images and mirror half of them; ``crop`` False leaves the crop out."""
        return self._normalise(self._crop_and_flip(images, generator, crop))

    def strong(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Crop and mirror as ``weak`` does, then apply the strong policy."""
        return self._normalise(self._policy(self._crop_and_flip(images, generator, crop), generator))

    def test(self, images: Tensor) -> Tensor:
        """Normalise and nothing else."""
        return self._normalise(images)

    def _crop_and_flip(self, images: Tensor, generator: Generator, crop: bool) -> Tensor:
        offsets = flips = None
        padding = self.settings.padding
        if crop and padding > 0:
            offsets = torch.randint(2 * padding + 1, (len(images), 2), generator=generator).to(images.device)
        if self.settings.flip:
            flips = (torch.rand(len(images), generator=generator) < 0.5).to(images.device)
        return crop_and_flip(images, offsets, flips, padding)

    def _normalise(self, images: Tensor) -> Tensor:
        scale, shift = self._scale.to(images.device), self._shift.to(images.device)
        # Changing the memory order last is faster: broadcasting over an innermost axis of 3 is slow.
        return images.float().mul_(scale).add_(shift).contiguous(memory_format=torch.channels_last)
