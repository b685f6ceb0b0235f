"""Trained networks as post-hoc detectors see them: evidence, head and last blocks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lond.detect import Evidence, NoNetworkError
from lond.losses import log_odds, prototype_logits
from lond.nets.classifier import Classifier
from lond.nets.dual import DualNet


class OpenedClassifier:
    """A softmax classifier: features are the input of its last linear layer."""

    def __init__(self, net: Classifier) -> None:
        """Keep the network, which should be in evaluation mode."""
        self.net = net

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return features and logits of normalised images, and the maps of the last two blocks if asked for."""
        out = self.net(images)
        return Evidence(out.features.float(), out.logits.float(), maps=_maps(self.net.backbone, images, maps))

    def head(self, features: Tensor) -> Tensor:
        """Map features, wherever they lie, to logits on the network's device."""
        logits: Tensor = self.net.last(features.to(self.net.last.weight.device))
        return logits.float()

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Return the logits that follow from maps."""
        return self.head(self.net.neck(_after(self.net.backbone, block, maps)))


class OpenedPair:
    """Two softmax classifiers as one: features and maps side by side, logits summed."""

    def __init__(self, first: Classifier, second: Classifier) -> None:
        """Keep the networks, which should be in evaluation mode."""
        self.nets = (first, second)

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return features and logits of normalised images, and the maps of the last two blocks if asked for."""
        first, second = (net(images) for net in self.nets)
        joined = None
        if maps:
            blocks = zip(*(_maps(net.backbone, images, wanted=True) or () for net in self.nets), strict=True)
            earlier, last = (torch.cat(block, dim=1) for block in blocks)
            joined = (earlier, last)
        features = torch.cat([first.features, second.features], dim=1).float()
        return Evidence(features, first.logits.float() + second.logits.float(), maps=joined)

    def head(self, features: Tensor) -> Tensor:
        """Map features, wherever they lie, to logits on the networks' device."""
        halves = zip(self.nets, features.chunk(2, dim=1), strict=True)
        first, second = (OpenedClassifier(net).head(half) for net, half in halves)
        return first + second

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Return the logits that follow from maps."""
        halves = zip(self.nets, maps.chunk(2, dim=1), strict=True)
        first, second = (OpenedClassifier(net).finish(block, half) for net, half in halves)
        return first + second


class OpenedDual:
    """The two-space network: features are the input of the one-vs-all head's last layer, logits its log odds."""

    def __init__(self, net: DualNet, temperature: float) -> None:
        """Keep the network, which should be in evaluation mode; ``temperature`` is tau of the prototype scores."""
        self.net, self.temperature = net, temperature

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return features, log odds, embeddings and prototype scores, and the maps if asked for."""
        out = self.net(images)
        features = self.net.ova_head[:-1](out.features)
        logits = self.head(features)
        nearest = prototype_logits(out.embedding, self.net.unit_prototypes(), self.temperature)
        scores = torch.where(self.net.prototypes_ready, nearest, logits)
        return Evidence(
            features.float(),
            logits,
            maps=_maps(self.net.backbone, images, maps),
            embeddings=out.embedding,
            class_scores=scores,
        )

    def head(self, features: Tensor) -> Tensor:
        """Map features, wherever they lie, to log odds on the network's device."""
        features = features.to(self.net.prototypes.device)
        return log_odds(self.net.ova_head[-1](features).unflatten(1, (-1, 2)))

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Return the log odds that follow from maps."""
        return self.head(self.net.ova_head[:-1](_after(self.net.backbone, block, maps)))


def has_maps(backbone: nn.Module) -> bool:
    """Tell whether a backbone can be opened before its last two blocks."""
    return hasattr(backbone, "maps") and hasattr(backbone, "after")


def _maps(backbone: nn.Module, images: Tensor, wanted: bool) -> tuple[Tensor, Tensor] | None:
    if not wanted:
        return None
    if not has_maps(backbone):
        raise NoNetworkError(f"the backbone {type(backbone).__name__} does not give the maps of its last two blocks")
    earlier, last = backbone.maps(images)  # type: ignore[operator]  # has_maps has looked
    return earlier, last


def _after(backbone: nn.Module, block: int, maps: Tensor) -> Tensor:
    features: Tensor = backbone.after(block, maps)  # type: ignore[operator]  # has_maps has looked
    return features
