"""Clean samples by their small loss: two Gaussians fitted to the losses of all samples (DivideMix)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class TwoGaussians(NamedTuple):
    """Mixture of two one-dimensional normal distributions; all tensors are ``(2,)`` float64.

    Examples:
        >>> fit_two_gaussians(torch.tensor([0.0, 0.1, 0.9, 1.0])).means.tolist()
        [0.050000000745058004, 0.94999998807907]
    """

    means: Tensor
    variances: Tensor
    weights: Tensor


def scale_to_unit(values: Tensor) -> Tensor:
    """Return ``(x - min) / (max - min)`` of ``(N,)`` in float64 on the CPU; constant values become 0.

    Examples:
        >>> scale_to_unit(torch.tensor([2.0, 3.0, 4.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    values = values.detach().cpu().double()
    if not len(values):
        return values
    lowest, highest = values.aminmax()
    return (values - lowest) / (highest - lowest) if highest > lowest else torch.zeros_like(values)


def fit_two_gaussians(
    values: Tensor, *, max_iterations: int = 10, tolerance: float = 1e-2, variance_floor: float = 5e-4
) -> TwoGaussians:
    """Fit the mixture by expectation-maximisation, from the best division of the line into two clusters.

    Args:
        values: ``(N,)``, at least two of them different.
        max_iterations: of expectation-maximisation.
        tolerance: it ends earlier when the mean log-likelihood changes by less.
        variance_floor: added to both variances.

    Raises:
        ValueError: there are no two different values.

    Examples:
        >>> found = fit_two_gaussians(torch.tensor([0.0, 0.1, 0.9, 1.0]))
        >>> [round(mean, 2) for mean in found.means.tolist()]
        [0.05, 0.95]
    """
    values = values.detach().cpu().double()
    if len(values) < 2 or values.min() == values.max():
        raise ValueError("a mixture of two needs two different values")
    mixture = _maximise(values, _two_means(values), variance_floor)
    before = -math.inf
    for _ in range(max_iterations):
        log_densities = _log_densities(values, mixture)
        mixture = _maximise(values, log_densities.softmax(dim=1), variance_floor)
        likelihood = float(log_densities.logsumexp(dim=1).mean())
        if abs(likelihood - before) < tolerance:
            break
        before = likelihood
    return mixture


def small_loss_posterior(
    losses: Tensor, *, max_iterations: int = 10, tolerance: float = 1e-2, variance_floor: float = 5e-4
) -> Tensor:
    """Return the probability that a loss belongs to the Gaussian with the smaller mean, ``(N,) -> (N,)`` float32.

    Losses are taken as they are; the floor of the variance expects them in [0, 1] (``scale_to_unit``). If all are
    equal, or there is only one, nothing speaks against any sample and all get 1.

    Examples:
        >>> [round(chance, 2) for chance in small_loss_posterior(torch.tensor([0.0, 0.1, 0.9, 1.0])).tolist()]
        [1.0, 1.0, 0.0, 0.0]
    """
    if len(losses) < 2 or losses.min() == losses.max():
        return torch.ones(len(losses), device=losses.device)
    values = losses.detach().cpu().double()
    mixture = fit_two_gaussians(
        values, max_iterations=max_iterations, tolerance=tolerance, variance_floor=variance_floor
    )
    posterior = _log_densities(values, mixture).softmax(dim=1)[:, int(mixture.means.argmin())]
    return posterior.float().to(losses.device)


def _two_means(values: Tensor) -> Tensor:
    """Return the one-hot clusters ``(N, 2)`` of least squared distance from their means, the smaller values first."""
    ordered, order = values.sort()
    total = len(values)
    left = torch.arange(1, total, dtype=torch.float64)
    gaps = ordered[:-1] < ordered[1:]
    between = (ordered.cumsum(0)[:-1] - left * ordered.mean()).square() / (left * (total - left))
    cut = int(between.where(gaps, -1).argmax()) + 1
    clusters = torch.zeros(total, 2, dtype=torch.float64)
    clusters[order[:cut], 0] = 1
    clusters[order[cut:], 1] = 1
    return clusters


def _maximise(values: Tensor, shares: Tensor, variance_floor: float) -> TwoGaussians:
    """Return the mixture that is most likely when sample i belongs to each Gaussian by ``shares`` ``(N, 2)``."""
    # A Gaussian that has lost every sample must not divide by zero.
    counts = shares.sum(dim=0) + 10 * torch.finfo(torch.float64).eps
    means = (shares * values[:, None]).sum(dim=0) / counts
    variances = (shares * (values[:, None] - means).square()).sum(dim=0) / counts + variance_floor
    return TwoGaussians(means, variances, counts / counts.sum())


def _log_densities(values: Tensor, mixture: TwoGaussians) -> Tensor:
    """Return ``log(weight_j) + log N(x_i; mean_j, variance_j)`` as ``(N, 2)``."""
    distances = (values[:, None] - mixture.means).square() / mixture.variances
    return mixture.weights.log() - (distances + mixture.variances.log() + math.log(2 * math.pi)) / 2
