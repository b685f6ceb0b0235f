"""How the labels of the neighbours are spread: scattered around an image of no known class."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.identify.neighbours import Neighbours


def label_votes(labels: Tensor, neighbours: Neighbours, num_classes: int, temperature: float = 0.2) -> Tensor:
    """Return the distribution of the neighbours' given labels, weighted by ``exp(similarity_j / tau)``.

    Args:
        labels: ``(N,)`` given labels of the bank; unlabelled ones (negative) do not vote.
        neighbours: of Q images in the bank.
        num_classes: C.
        temperature: tau; smaller = the nearest ones decide.

    Returns:
        ``(Q, C)`` rows that sum to one; even shares where no neighbour has a label.

    Examples:
        >>> near = Neighbours(torch.tensor([[0, 1, 2]]), torch.ones(1, 3))
        >>> [round(share, 2) for share in label_votes(torch.tensor([0, 0, 1]), near, num_classes=2)[0].tolist()]
        [0.67, 0.33]
    """
    given = labels.to(neighbours.indices.device)[neighbours.indices]
    scaled = neighbours.similarities / temperature
    weights = torch.where(given >= 0, scaled, -torch.inf)
    # Against the largest of each row, so that no exponential overflows; rows without a vote stay at zero.
    top = weights.amax(dim=1, keepdim=True).nan_to_num(neginf=0.0)
    votes = scaled.new_zeros(len(given), num_classes)
    votes.scatter_add_(1, given.clamp_min(0), (weights - top).exp())
    total = votes.sum(dim=1, keepdim=True)
    return torch.where(total > 0, votes / total.clamp_min(torch.finfo(votes.dtype).tiny), 1 / num_classes)


def scattered_labels(votes: Tensor, most: Tensor | None = None) -> Tensor:
    """Return one minus the largest share of votes ``(Q, C)``, a foreign score ``(Q,)``; larger = more foreign.

    ``most`` ``(C,)`` are the largest shares that the classes can have, 1 if left out: a class with fewer images than
    there are voters is measured by those it has.

    Foreign images of a training set carry labels of all kinds. So do their neighbours, which often are foreign too;
    the neighbours of a known image mostly agree, even if its own label is wrong.

    Examples:
        >>> scattered_labels(torch.tensor([[1.0, 0.0], [0.5, 0.5]])).tolist()
        [0.0, 0.5]
    """
    return 1 - votes.amax(dim=1) if most is None else 1 - (votes / most).clamp_max(1).amax(dim=1)
