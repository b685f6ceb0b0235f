"""The probability of an unknown class, from Weibull models of how far each class reaches."""

from __future__ import annotations

from typing import NamedTuple, Self

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, in_blocks, labelled, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError, DataError

SHIFT = 1e4
"""What libmr adds to distances before it fits, ``x = d + SHIFT - min(tail)``."""
_LEAST_SPREAD = 1e-8
_MOST_ROUNDS = 100


class Weibull(NamedTuple):
    """Weibull models ``w(d) = 1 - exp(-(x / scale)^shape)``, ``x = max(0, d + SHIFT - least)``, one per class."""

    shape: Tensor
    log_scale: Tensor
    """``ln(scale / SHIFT)``."""
    least: Tensor
    """Smallest distance of the tail."""

    def cdf(self, classes: Tensor, distances: Tensor) -> Tensor:
        """Return ``w`` of distances under the models of the given classes; 0 for a class without a model."""
        log_x = torch.log1p(((distances - self.least[classes]) / SHIFT).clamp(min=-1))
        shape = self.shape[classes]
        w = -torch.expm1(-torch.exp(shape * (log_x - self.log_scale[classes])))
        return torch.where(shape > 0, w, torch.zeros_like(w))


def fit_weibull(tail: Tensor) -> tuple[float, float, float]:
    """Return shape, log scale and least distance of the maximum-likelihood Weibull model (location 0) of a tail.

    Newton's method solves ``sum x^k ln x / sum x^k - 1/k - mean ln x = 0`` for the shape k, with
    ``x = d + SHIFT - min(d)``; the scale is ``(mean x^k)^(1/k)``. Distances that do not differ (a class with one or two
    correct samples) have no such model: shape 0 is returned.

    Args:
        tail: ``(T,)`` float64 distances.
    """
    least = float(tail.min())
    if float(tail.max()) - least <= _LEAST_SPREAD * max(1.0, float(tail.max())):
        return 0.0, 0.0, least
    # ln x up to the constant ln SHIFT, which drops out of the equation.
    log_x = torch.log1p((tail - least) / SHIFT)
    shape = 1.2 / float(log_x.std(correction=0))
    for _ in range(_MOST_ROUNDS):
        weights = torch.softmax(shape * log_x, dim=0)
        mean = float(weights @ log_x)
        slope = float(weights @ (log_x - mean).square()) + 1 / shape**2
        step = (mean - 1 / shape - float(log_x.mean())) / slope
        shape = shape - step if step < shape else shape / 2
        if abs(step) <= 1e-12 * shape:
            break
    log_mean = torch.logsumexp(shape * log_x, dim=0) - torch.log(torch.tensor(float(len(tail)), dtype=torch.float64))
    return shape, float(log_mean) / shape, least


def fit_openmax(logits: Tensor, labels: Tensor, tail_size: int = 20) -> tuple[Tensor, Weibull]:
    """Return the mean logits ``(C, C)`` of the correctly classified samples of each class, and the models of distance.

    Args:
        logits: ``(N, C)``.
        labels: ``(N,)`` in ``0..C-1``.
        tail_size: how many of the largest distances of a class are fitted; a smaller class gives all it has.
    """
    logits = logits.double()
    correct = logits.argmax(dim=1) == labels
    centres = torch.zeros(logits.shape[1], logits.shape[1], dtype=torch.float64, device=logits.device)
    models = [(0.0, 0.0, 0.0)] * logits.shape[1]
    for label in labels[correct].unique().tolist():
        own = logits[correct & (labels == label)]
        centres[label] = own.mean(dim=0)
        distances = (own - centres[label]).norm(dim=1)
        models[label] = fit_weibull(distances.topk(min(tail_size, len(own))).values)
    columns = torch.tensor(models, dtype=torch.float64, device=logits.device).unbind(dim=1)
    return centres, Weibull(*columns)


def openmax_score(logits: Tensor, centres: Tensor, weibull: Weibull, alpha: int = 3) -> Tensor:
    """Return the probability of the unknown class; larger = more foreign.

    The logit of the i-th ranked of the ``alpha`` best classes becomes ``z_c (1 - omega_i w_c)`` with
    ``omega_i = (alpha + 1 - i) / alpha`` and ``w_c`` the Weibull probability of the distance to the class; the sum of
    what is taken off is the logit of the unknown class in a softmax over C + 1 classes.

    Args:
        logits: ``(B, C)``.
        centres: ``(C, C)``.
        weibull: a model a class.
        alpha: how many classes to revise; at most C.

    Returns:
        ``(B,)`` float64 in [0, 1].
    """
    alpha = min(alpha, logits.shape[1])

    def unknown(block: Tensor) -> Tensor:
        revised = block.double()
        taken = torch.zeros(len(block), dtype=torch.float64, device=block.device)
        values, classes = revised.topk(alpha, dim=1)
        for rank in range(alpha):
            distances = (block.double() - centres[classes[:, rank]]).norm(dim=1)
            off = values[:, rank] * weibull.cdf(classes[:, rank], distances) * (alpha - rank) / alpha
            revised = revised.scatter_add(1, classes[:, rank, None], -off[:, None])
            taken = taken + off
        return torch.sigmoid(taken - revised.logsumexp(dim=1))

    return in_blocks(unknown, logits)


class OpenMax(Detector):
    """OpenMax (Bendale and Boult, CVPR 2016, arXiv 1511.06233) with Euclidean distances of logits.

    Fitted on logits and given labels of the samples whose prediction equals the label. In this setting the training set
    itself holds open-set images and wrong labels; that filter removes part of them, ``trusted_only`` evidence more. A
    class without two samples of different distance has no model: its w is 0, so its logit is not revised.

    Examples:
        >>> logits = torch.tensor([[5.0, 0.0], [6.0, 0.5], [7.0, 0.2], [0.0, 5.0], [0.4, 6.0], [0.1, 7.0]])
        >>> bank = Evidence(logits=logits, labels=torch.tensor([0, 0, 0, 1, 1, 1]))
        >>> detector = OpenMax(alpha=2).fit_features(bank)
        >>> scores = detector.score_features(Evidence(logits=torch.tensor([[6.0, 0.2], [2.0, 2.0]])))
        >>> bool(scores[1] > scores[0])
        True
    """

    state_names = ("centres", "shape", "log_scale", "least")
    fits_on = "training"

    def __init__(self, network: AnyNetwork | None = None, *, alpha: int = 3, tail_size: int = 20) -> None:
        """Set how many classes are revised, and how many of the largest distances are fitted."""
        super().__init__(network)
        if alpha < 1 or tail_size < 2:
            raise ConfigError(f"OpenMax needs alpha >= 1 and a tail of at least 2, not {alpha} and {tail_size}")
        self.alpha, self.tail_size = alpha, tail_size

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit centres and Weibull models; raises DataError also where no class gets a model."""
        logits, labels = labelled(evidence, "logits")
        centres, weibull = fit_openmax(logits.detach(), labels, self.tail_size)
        if not (weibull.shape > 0).any():
            raise DataError("no class has enough correctly classified samples that differ: OpenMax cannot be fitted")
        self.state = {"centres": centres, **weibull._asdict()}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the probability of the unknown class."""
        weibull = Weibull(self.fitted("shape"), self.fitted("log_scale"), self.fitted("least"))
        return openmax_score(part(evidence, "logits").detach(), self.fitted("centres"), weibull, self.alpha)
