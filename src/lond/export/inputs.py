"""What goes into an exported graph: which tensor, and how it becomes what the method takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lond.data.squares import MID_GREY
from lond.frozen.extractor import frozen_backbone, normalisation
from lond.frozen.samples import FrozenSettings
from lond.runs import LoadedRun


@dataclass(frozen=True)
class GraphInput:
    """The one input of a graph.

    Attributes:
        name: "images" or "features".
        shape: without the batch.
        dtype: "uint8" or "float32".
        before: what the caller does to a picture beforehand, in a few lines.
        inside: what the graph does itself.
        prepare: maps the input to what the method takes.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    before: str
    inside: str
    prepare: nn.Module

    def example(self, rows: int = 2) -> Tensor:
        """Return an input of mid-grey images, or of zeros."""
        if self.dtype == "uint8":
            return torch.full((rows, *self.shape), 128, dtype=torch.uint8)
        return torch.zeros(rows, *self.shape)

    def describe(self) -> dict[str, Any]:
        """Return what a program needs to know to make the input."""
        return {
            "name": self.name,
            "shape": ["batch", *self.shape],
            "dtype": self.dtype,
            "preprocessing": self.before,
            "in_the_graph": self.inside,
        }


def graph_input(run: LoadedRun) -> GraphInput:
    """Return the input of a run's graph: images, or features if the run was trained on given ones."""
    frozen, shape = run.config.data.frozen, run.shape
    if frozen.backbone:
        side = frozen.size
        return GraphInput(
            "images", (3, side, side), "uint8", _pictures(3, side, frozen),
            f"normalisation and {frozen.backbone}", FrozenStem(frozen),
        )  # fmt: skip
    if run.config.net.backbone == "features":
        views = f", the mean of {shape.channels} views," if shape.channels > 1 else ""
        before = f"one vector{views} per image, from the network that the run was trained on"
        return GraphInput("features", (shape.size[1],), "float32", before, "nothing", nn.Identity())
    height, width = shape.size
    before = _pictures(shape.channels, height) if height == width else f"pictures of {height} x {width} pixels"
    return GraphInput("images", (shape.channels, height, width), "uint8", before, "normalisation", Normalise(run))


def _pictures(channels: int, side: int, frozen: FrozenSettings | None = None) -> str:
    colour = "RGB" if channels == 3 else "grey"
    resized = f"side to {side} (bilinear, antialiased, as Pillow does), the other to the nearest pixel"
    fitted = f"cut out the centre square, from pixel round((length - {side}) / 2) on, halves to even"
    length, long = "short", ""
    if frozen is not None and frozen.whole:
        length, fitted = "long", f"pad both ends of the short side with {MID_GREY} to a square"
    elif frozen is not None and frozen.limit < math.inf:
        long = (
            f"\na picture more than {frozen.limit:g} times as long as its short side: also cut out a square at each "
            "end, and average the outputs of the three (lond averages their features, which this graph cannot)"
        )
    return (
        f"decode, turn upright, convert to {colour}; resize the {length} {resized}\n"
        f"{fitted}; values 0 to 255, channel first{long}"
    )


class Normalise(nn.Module):
    """The run's test view: values to [0, 1], then mean and deviation by channel."""

    def __init__(self, run: LoadedRun) -> None:
        """Keep the run's views."""
        super().__init__()
        self.views = run.views

    def forward(self, images: Tensor) -> Tensor:
        """Map uint8 images to normalised float images."""
        return self.views.test(images)


class FrozenStem(nn.Module):
    """The frozen network of a run: uint8 images ``(B, 3, S, S)`` to the mean feature of their views ``(B, D)``.

    Features are kept in 16 bits on the way from images to a run; here they are not rounded.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, settings: FrozenSettings) -> None:
        """Load the pretrained network."""
        super().__init__()
        self.mirrored = settings.mirrored
        self.backbone, _ = frozen_backbone(settings)
        mean, std = normalisation(self.backbone)
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of a batch."""
        x = (images.float() / 255 - self.mean) / self.std
        features: Tensor = self.backbone(x).float()
        if self.mirrored:
            features = (features + self.backbone(x.flip(-1)).float()) / 2
        return features
