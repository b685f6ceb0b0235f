"""Maximum softmax probability at a fitted temperature."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import BLOCK_ROWS, Evidence, labelled, part
from lond.detect.msp import msp_score
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError, DataError


def loss_and_slope(logits: Tensor, labels: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of ``z / T`` and its derivative ``mean(z_y - sum_c p_c z_c) / T^2``, in float64.

    Written out rather than left to autograd, which would keep several copies of the logits.

    Args:
        logits: ``(N, C)``.
        labels: ``(N,)`` in ``0..C-1``.
        temperature: T, a number.
    """
    loss, slope = torch.zeros_like(temperature), torch.zeros_like(temperature)
    for block, block_labels in zip(logits.split(BLOCK_ROWS), labels.split(BLOCK_ROWS), strict=True):
        block = block.double()
        own = block.gather(1, block_labels[:, None]).squeeze(1)
        log_sum = (block / temperature).logsumexp(dim=1)
        expected = ((block / temperature - log_sum[:, None]).exp() * block).sum(dim=1)
        loss += (log_sum - own / temperature).sum()
        slope += (own - expected).sum()
    return loss / len(logits), slope / len(logits) / temperature.square()


def fit_temperature(
    logits: Tensor, labels: Tensor, *, start: float = 1.5, learning_rate: float = 0.01, iterations: int = 50
) -> float:
    """Return T after at most ``iterations`` rounds of LBFGS on the mean cross-entropy of ``z / T``.

    All data are in one closure, T is unconstrained, there is no line search. With OpenOOD's learning rate, the default,
    the fit stops on the way from ``start`` to the optimum; a larger one goes further, and may leap below zero.

    Args:
        logits: ``(N, C)``.
        labels: ``(N,)`` in ``0..C-1``.
        start: T before the first round.
        learning_rate: of LBFGS.
        iterations: of LBFGS.

    Raises:
        DataError: T is not a positive number.
    """
    temperature = torch.tensor(start, dtype=torch.float64, device=logits.device)
    optimiser = torch.optim.LBFGS([temperature], lr=learning_rate, max_iter=iterations)

    def closure() -> Tensor:
        loss, temperature.grad = loss_and_slope(logits.detach(), labels, temperature)
        return loss

    optimiser.step(closure)
    fitted = float(temperature)
    if not (math.isfinite(fitted) and fitted > 0):
        raise DataError(
            f"the temperature came out as {fitted:.3g}, which is no temperature: the logits do not predict the labels, "
            "or the steps are too large. Fit on samples with trusted labels, lower the learning rate, or use MSP"
        )
    return fitted


def best_temperature(logits: Tensor, labels: Tensor, lowest: float = 0.05, highest: float = 20.0) -> float:
    """Return the T in [lowest, highest] with the smallest mean cross-entropy, by bisection.

    The cross-entropy is convex in 1 / T, so its slope changes sign at most once.

    Args:
        logits: ``(N, C)``.
        labels: ``(N,)`` in ``0..C-1``.
        lowest: smallest T considered; reached if the logits rank every label first.
        highest: largest T considered; reached if the logits carry no information about the labels.
    """
    low, high = math.log(lowest), math.log(highest)
    for _ in range(50):
        middle = torch.tensor((low + high) / 2, dtype=torch.float64, device=logits.device)
        _, slope = loss_and_slope(logits.detach(), labels, middle.exp())
        low, high = (low, float(middle)) if slope >= 0 else (float(middle), high)
    return math.exp((low + high) / 2)


class TempScaling(Detector):
    """Temperature scaling (Guo et al., ICML 2017, arXiv 1706.04599), then MSP.

    Fitted on logits and labels of images not used for training: on training images the network is overconfident, and T
    is too small. Wrong labels inflate T; ``trusted_only`` evidence helps.

    Examples:
        >>> logits = torch.tensor([[8.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
        >>> detector = TempScaling().fit_features(Evidence(logits=logits, labels=torch.tensor([0, 1, 1])))
        >>> float(detector.state["temperature"]) > 1.5  # a third of so sure predictions is wrong
        True
    """

    state_names = ("temperature",)
    fits_on = "held-out"

    def __init__(
        self,
        network: AnyNetwork | None = None,
        *,
        start: float = 1.5,
        learning_rate: float = 0.01,
        iterations: int = 50,
    ) -> None:
        """Set the start, the learning rate and the maximum number of iterations of LBFGS."""
        super().__init__(network)
        if not (start > 0 and learning_rate > 0 and iterations > 0):
            raise ConfigError("start, learning rate and iterations of the temperature fit must be positive")
        self.start, self.learning_rate, self.iterations = start, learning_rate, iterations

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit T with LBFGS; if that overshoots below zero (there is no line search), find the best T by bisection."""
        logits, labels = labelled(evidence, "logits")
        try:
            temperature = fit_temperature(
                logits, labels, start=self.start, learning_rate=self.learning_rate, iterations=self.iterations
            )
        except DataError:
            temperature = best_temperature(logits, labels)
        self.state = {"temperature": torch.tensor(temperature, dtype=torch.float64)}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``1 - max_c softmax(z / T)_c``."""
        return msp_score(part(evidence, "logits").float() / float(self.fitted("temperature")))
