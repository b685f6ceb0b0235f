"""The neighbour margin and the class-balanced clean set (Eq. 7-9)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.identify.neighbours import Neighbours


def neighbour_labels(neighbours: Neighbours, positives: Tensor, temperature: float) -> Tensor:
    """Return the neighbour label of each sample (Eq. 7, with ``p(x_j)`` under the sum).

    Args:
        neighbours: k neighbours of each of the N samples, by similarity of embeddings.
        positives: ``(N, C)`` one-vs-all positive probabilities; normalised here to sum to one.
        temperature: tau of the weights ``exp(z_i . z_j / tau)``.

    Returns:
        ``(N, C)`` distributions q.

    Examples:
        >>> near = Neighbours(torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 2))
        >>> neighbour_labels(near, torch.tensor([[0.75, 0.25], [0.25, 0.75]]), temperature=0.1).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    votes = positives / positives.sum(dim=1, keepdim=True).clamp_min(torch.finfo(positives.dtype).tiny)
    weights = F.softmax(neighbours.similarities / temperature, dim=1).to(votes)
    labels = F.embedding_bag(neighbours.indices, votes, per_sample_weights=weights, mode="sum")
    return labels / labels.sum(dim=1, keepdim=True).clamp_min(torch.finfo(labels.dtype).tiny)


def neighbour_margin(neighbour_label: Tensor, labels: Tensor, top: int, *, clip: bool = True) -> Tensor:
    """Return ``clip(q[y], .01, .99) - mean of the K largest q[c], c != y`` (Eq. 8).

    Args:
        neighbour_label: ``(N, C)`` distributions q.
        labels: ``(N,)`` given labels; a negative one (unlabelled) has q[y] = 0.
        top: K; capped by the number of other classes.
        clip: False = take q[y] as it is.

    Returns:
        ``(N,)`` margins; the larger, the more likely the label is right.

    Examples:
        >>> neighbour_margin(torch.tensor([[0.75, 0.25]]), torch.tensor([0]), top=1).tolist()
        [0.5]
    """
    labelled = labels >= 0
    column = labels.clamp_min(0).unsqueeze(1)
    given = torch.where(labelled, neighbour_label.gather(1, column).squeeze(1), 0.0)
    given = given.clamp(0.01, 0.99) if clip else given
    removed = torch.zeros_like(neighbour_label, dtype=torch.bool).scatter_(1, column, labelled.unsqueeze(1))
    others = neighbour_label.masked_fill(removed, -torch.inf)
    largest = others.topk(min(top, neighbour_label.shape[1] - 1), dim=1).values
    return given - largest.mean(dim=1)


def clean_quota(neighbour_label: Tensor, labels: Tensor, quantile: float) -> int:
    """Return how many samples each class may keep (Eq. 9).

    It is the ``alpha_ID`` quantile, over the C classes, of the number of samples whose neighbour label equals the given
    label (linear interpolation, the lower median at 0.5), rounded down.

    Examples:
        >>> votes = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
        >>> clean_quota(votes, torch.tensor([0, 0, 1]), quantile=1.0)
        2
    """
    agrees = neighbour_label.argmax(dim=1) == labels
    counts = torch.bincount(labels[agrees], minlength=neighbour_label.shape[1]).double()
    lower_median = quantile == 0.5
    # The small term undoes the float error of the interpolation, as in select_open.
    return int(counts.quantile(quantile, interpolation="lower" if lower_median else "linear") + 1e-9)


def select_clean(margins: Tensor, labels: Tensor, quota: int) -> Tensor:
    """Return the mask ``(N,)`` of the ``quota`` samples (at most all) with the largest margin in each class (Eq. 9).

    Examples:
        >>> select_clean(torch.tensor([0.9, 0.1, 0.5]), torch.tensor([0, 0, 1]), quota=1).tolist()
        [True, False, True]
    """
    order = margins.argsort(descending=True, stable=True)
    order = order[labels[order].argsort(stable=True)]
    sorted_labels = labels[order]
    first = torch.searchsorted(sorted_labels, sorted_labels)
    rank = torch.arange(len(labels), device=labels.device) - first
    clean = torch.zeros_like(labels, dtype=torch.bool)
    clean[order] = (rank < quota) & (sorted_labels >= 0)
    return clean
