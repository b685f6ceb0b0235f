"""Frozen networks that turn images into features, by the fastest route that gives the same features."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.frozen.routes import ROUTES, RUNNERS, PixelNetwork, chosen_route
from lond.nets.backbones import Backbone, build_backbone, native_size
from lond.seeds import own_random_state

PRECISIONS = ("full", "int8")
"""Numbers that a network computes with: 32-bit floats, or eight-bit integers."""

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation for networks that do not name their own."""


SQUARES_BEYOND = 2.0
"""Long side by short side beyond which pictures are seen in three squares: the centre is less than half of them."""


@dataclass(frozen=True)
class ExtractorSettings:
    """Settings of the frozen network: name, image size and runtime.

    Examples:
        >>> ExtractorSettings(size=112).backbone
        'efficientnet-lite0'
    """

    backbone: str = "efficientnet-lite0"
    """"efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2" or "timm:<model>"."""
    size: int = 224
    """Side of the square images that the network sees; smaller ones are enlarged."""
    mirrored: bool = True
    """Compute a second view of each image, mirrored."""
    route: str = "auto"
    """"auto", "torch", "compiled" (by ``torch.compile``) or "openvino"; the features are the same up to rounding."""
    checkpoint_path: str | None = None
    """Local file of pretrained weights for a timm model."""
    precision: str = "full"
    """"full", or "int8": faster by OpenVINO on a CPU, with features that differ a little."""
    whole: bool = False
    """See whole pictures, padded with mid-grey to squares, in place of centre squares; images in arrays, which are
    squeezed into squares, stay as they are."""
    squares_beyond: float = SQUARES_BEYOND
    """Long side by short side beyond which pictures are seen in three squares, at both ends and in the centre, of which
    the mean features count; 0 = none are. Does not matter with ``whole``."""

    def __post_init__(self) -> None:
        """Check that the size is at least 16, and that route and precision are known and fit each other."""
        if self.size < 16:
            raise ConfigError("the size of images for feature extraction must be at least 16")
        if self.route not in ROUTES:
            raise ConfigError(f"route {self.route!r} is unknown; use one of {', '.join(ROUTES)}")
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision {self.precision!r} is unknown; use one of {', '.join(PRECISIONS)}")
        if self.precision == "int8" and self.route not in ("auto", "openvino"):
            raise ConfigError(f"the precision int8 is OpenVINO's; the route {self.route} has full precision only")
        if self.squares_beyond and not 1 <= self.squares_beyond < math.inf:
            raise ConfigError(f"squares_beyond must be 0 or a number from 1 on, not {self.squares_beyond}")

    @property
    def views(self) -> int:
        """Features an image."""
        return 2 if self.mirrored else 1

    @property
    def limit(self) -> float:
        """Long side by short side beyond which pictures are seen in three squares: infinite if none are."""
        return math.inf if self.whole else self.squares_beyond or math.inf

    def showing(self, whole: bool) -> Self:
        """Return the settings that show the network all pictures whole, or the centre square alone of all."""
        return replace(self, whole=whole, squares_beyond=0.0)

    def key(self) -> str:
        """Return a text that changes whenever the features would; the route does not count."""
        weights = ""
        if self.checkpoint_path:
            weights = hashlib.sha256(Path(self.checkpoint_path).read_bytes()).hexdigest()[:16]
        coarse = "" if self.precision == "full" else f" {self.precision}"
        part = " whole" if self.whole else "" if self.limit == math.inf else f" squares>{self.limit:g}"
        return f"{self.backbone} {weights} size={self.size} views={self.views}{coarse}{part}"


def own_size(network: str) -> int:
    """Return the side of the images that a network is meant for.

    Examples:
        >>> own_size("efficientnet-lite1")
        240
    """
    return native_size(network)


class Extractor:
    """Maps uint8 images ``(B, C, H, W)`` to features ``(B, V, D)`` on the CPU: plain and, if asked, mirrored."""

    def __init__(
        self, settings: ExtractorSettings, device: torch.device | str = "cpu", folder: Path | None = None
    ) -> None:
        """Load the network and prepare its route; ``folder`` keeps what that takes time to convert.

        Raises:
            ConfigError: the network cannot be built.
            MissingDependencyError: its weights, or the asked route, are not installed.
        """
        self.settings = settings
        self.device = torch.device(device)
        self.route = chosen_route(settings.route, self.device)
        if settings.precision == "int8" and self.route != "openvino":
            raise ConfigError(
                "the precision int8 needs OpenVINO on a CPU: pip install 'lond[audit]', accelerator 'cpu'"
            )
        module, self.feature_size = frozen_backbone(settings)
        network = PixelNetwork(module, *normalisation(module))
        self._run = RUNNERS[self.route](network, settings.size, self.device, folder, settings.precision)

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """Return the features of a batch."""
        x = self._fitted(images)
        views = [x, x.flip(-1)] if self.settings.mirrored else [x]
        return torch.stack([self._run(view).float().cpu() for view in views], dim=1)

    def _fitted(self, images: Tensor) -> Tensor:
        """Return images ``(B, 3, S, S)`` with values from 0 to 255; those of the right size stay bytes."""
        x = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
        size = self.settings.size
        if x.shape[-2:] == (size, size):
            return x
        # MPS cannot shrink smoothly.
        x = x.to("cpu" if self.device.type == "mps" else self.device).float()
        return F.interpolate(x, (size, size), mode="bicubic", align_corners=False, antialias=True).clamp(0, 255)


def frozen_backbone(settings: ExtractorSettings) -> Backbone:
    """Return the pretrained network, in evaluation mode and without gradients, with the size of its features.

    Raises:
        ConfigError: the network cannot be built.
        MissingDependencyError: its weights are not installed.
    """
    # Weights are drawn before those of the file replace them.
    with own_random_state(0, "frozen network"):
        backbone = build_backbone(
            settings.backbone,
            in_channels=3,
            image_size=(settings.size, settings.size),
            pretrained=settings.checkpoint_path is None,
            checkpoint_path=settings.checkpoint_path,
        )
    backbone.module.eval().requires_grad_(requires_grad=False)
    return backbone


def normalisation(module: nn.Module) -> tuple[Sequence[float], Sequence[float]]:
    """Return the mean and deviation, by channel, of the images that a network was trained on."""
    return getattr(module, "input_mean", IMAGENET[0]), getattr(module, "input_std", IMAGENET[1])
