"""What the methods around one or two softmax classifiers share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.detect import Network, msp_score
from lond.errors import ConfigError
from lond.methods.base import Method, Task
from lond.methods.for_detectors import OpenedClassifier, OpenedPair
from lond.nets.classifier import Classifier
from lond.types import Phase, Prediction, Stream


@dataclass(frozen=True)
class ClassifierSettings:
    """The head on top of the backbone."""

    head: Literal["mlp", "linear"] = "mlp"
    hidden: int = 512
    """Width of the MLP head's hidden layer."""

    def __post_init__(self) -> None:
        """Check that the hidden layer has at least one unit."""
        if self.hidden < 1:
            raise ConfigError("hidden must be at least 1")


def build_classifier(settings: ClassifierSettings, task: Task) -> Classifier:
    """Return a fresh backbone with its head."""
    backbone, feature_size = task.build_backbone()
    return Classifier(backbone, feature_size, task.num_classes, head=settings.head, hidden=settings.hidden)


def one_hot(labels: Tensor, num_classes: int) -> Tensor:
    """Return ``(B, C)`` float32."""
    return F.one_hot(labels, num_classes).float()


def members(mask: Tensor) -> Tensor:
    """Return the indices, on the CPU, of the True entries of ``(N,)``."""
    return mask.nonzero().squeeze(1).cpu()


def whole_set(name: str, labels: Tensor, views: tuple[str, ...] = ("weak",)) -> Phase:
    """Return one walk through all labelled samples, as the stream "all"."""
    labelled = members(labels >= 0)
    return Phase(name, {"all": Stream(labelled, views)}, lead=len(labelled))


def predict_with(net: Classifier, images: Tensor) -> Prediction:
    """Return softmax probabilities and 1 - their maximum."""
    out = net(images)
    logits = out.logits.float()
    return Prediction(F.softmax(logits, dim=1), msp_score(logits), out.features.float(), logits)


class SingleMethod(Method, ABC):
    """One softmax classifier predicts; foreign score = 1 - maximum softmax probability."""

    net: Classifier

    def predict(self, images: Tensor) -> Prediction:
        """Return softmax probabilities and 1 - their maximum."""
        return predict_with(self.net, images)

    def network(self) -> Network:
        """Return the classifier, opened at its last layers."""
        return OpenedClassifier(self.net)


NETS = ("net1", "net2")
"""Names of two networks and of the phases that train them."""


class PairMethod(Method, ABC):
    """Two classifiers of different initial weights; they predict by the sum of their logits.

    Phases called "net1" and "net2" train one network, in train mode, while its peer rests in evaluation mode.
    """

    def __init__(self, nets: Iterable[Classifier]) -> None:
        """Keep the two networks."""
        super().__init__()
        self.nets = nn.ModuleList(nets)

    def net(self, index: int) -> Classifier:
        """Return one of the two networks."""
        net = self.nets[index]
        assert isinstance(net, Classifier)
        return net

    def own_and_peer(self, phase: str) -> tuple[Classifier, Classifier]:
        """Return the network that a phase trains, in train mode, and the other one, in evaluation mode."""
        index = NETS.index(phase.removeprefix("warm-up "))
        own, peer = self.net(index), self.net(1 - index)
        own.train()
        peer.eval()
        return own, peer

    def warmup_phases(self, labels: Tensor) -> Iterator[Phase]:
        """Yield a walk through all labelled samples for each network, "warm-up net1" and "warm-up net2"."""
        for name in NETS:
            yield whole_set(f"warm-up {name}", labels)

    def both_logits(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of both networks; made for surveys."""
        first, second = self.net(0)(images), self.net(1)(images)
        return first.logits.float(), second.logits.float()

    def predict(self, images: Tensor) -> Prediction:
        """Return softmax of the summed logits and 1 - its maximum; features are those of both networks."""
        first, second = self.net(0)(images), self.net(1)(images)
        logits = first.logits.float() + second.logits.float()
        features = torch.cat([first.features, second.features], dim=1).float()
        return Prediction(F.softmax(logits, dim=1), msp_score(logits), features, logits)

    def network(self) -> Network:
        """Return both classifiers, opened at their last layers."""
        return OpenedPair(self.net(0), self.net(1))
