"""Frozen networks that turn images into features, by the fastest route that gives the same features."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.frozen.convert import compile_openvino
from lond.nets.backbones import Backbone, build_backbone
from lond.seeds import own_random_state

ROUTES = ("auto", "torch", "openvino")
"""Ways to run a network; "auto" is openvino on a CPU if it is installed, else torch."""

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation for networks that do not name their own."""


@dataclass(frozen=True)
class ExtractorSettings:
    """Which network, at which size, and how it is run.

    Examples:
        >>> ExtractorSettings(size=112).backbone
        'efficientnet-lite0'
    """

    backbone: str = "efficientnet-lite0"
    """"efficientnet-lite0" or "timm:<model>"."""
    size: int = 224
    """Side of the square images that the network sees; smaller ones are enlarged."""
    mirrored: bool = True
    """Compute a second view of each image, mirrored."""
    route: str = "auto"
    """"auto", "torch" or "openvino"; all give the same features up to rounding."""
    checkpoint_path: str | None = None
    """Local file of pretrained weights for a timm model."""

    def __post_init__(self) -> None:
        """Check that the size is at least 16 and the route is known."""
        if self.size < 16:
            raise ConfigError("the size of images for feature extraction must be at least 16")
        if self.route not in ROUTES:
            raise ConfigError(f"route {self.route!r} is unknown; use one of {', '.join(ROUTES)}")

    @property
    def views(self) -> int:
        """Features an image."""
        return 2 if self.mirrored else 1

    def key(self) -> str:
        """Return a text that changes whenever the features would; the route does not count."""
        weights = ""
        if self.checkpoint_path:
            weights = hashlib.sha256(Path(self.checkpoint_path).read_bytes()).hexdigest()[:16]
        return f"{self.backbone} {weights} size={self.size} views={self.views}"


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
        module, self.feature_size = frozen_backbone(settings)
        mean, std = normalisation(module)
        self._mean = torch.tensor(mean, device=self.device).view(1, -1, 1, 1)
        self._std = torch.tensor(std, device=self.device).view(1, -1, 1, 1)
        self.route = chosen_route(settings.route, self.device)
        self._run = RUNNERS[self.route](module, settings.size, self.device, folder)

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """Return the features of a batch."""
        # MPS cannot shrink smoothly.
        x = images.to("cpu" if self.device.type == "mps" else self.device).float() / 255
        if x.shape[1] == 1:
            x = x.expand(-1, 3, -1, -1)
        size = self.settings.size
        if x.shape[-2:] != (size, size):
            x = F.interpolate(x, (size, size), mode="bicubic", align_corners=False, antialias=True).clamp(0, 1)
        x = (x.to(self.device) - self._mean) / self._std
        views = [x, x.flip(-1)] if self.settings.mirrored else [x]
        return torch.stack([self._run(view).float().cpu() for view in views], dim=1)


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


def chosen_route(route: str, device: torch.device) -> str:
    """Return the route that "auto" stands for on a device."""
    if route != "auto":
        return route
    return "openvino" if device.type == "cpu" and find_spec("openvino") is not None else "torch"


Runner = Callable[[Tensor], Tensor]


def _torch_runner(module: nn.Module, size: int, device: torch.device, folder: Path | None = None) -> Runner:
    fast: nn.Module = module.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]

    def run(x: Tensor) -> Tensor:
        features: Tensor = fast(x.contiguous(memory_format=torch.channels_last))
        return features

    return run


def _openvino_runner(module: nn.Module, size: int, device: torch.device, folder: Path | None = None) -> Runner:
    compiled = compile_openvino(module, size, folder)

    def run(x: Tensor) -> Tensor:
        return torch.from_numpy(compiled([x.contiguous().numpy()])[0].copy())

    return run


RUNNERS: dict[str, Callable[..., Runner]] = {"torch": _torch_runner, "openvino": _openvino_runner}
"""Route -> how a network is made ready on it, given module, size, device and perhaps a folder to keep it in."""
