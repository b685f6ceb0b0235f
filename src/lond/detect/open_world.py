"""The open-world score of the dual representation space (Eq. 15)."""

from __future__ import annotations

from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, part


def open_world_score(negatives: Tensor, class_scores: Tensor) -> Tensor:
    """Return ``p^{y'}(z=0|x)`` with y' the class of the nearest prototype (Eq. 15); larger = more foreign.

    Args:
        negatives: ``(B, C)`` one-vs-all negative probabilities.
        class_scores: ``(B, C)``; their argmax is y' (prototype logits, or any other class scores).

    Returns:
        ``(B,)`` scores in [0, 1].

    Examples:
        >>> import torch
        >>> open_world_score(torch.tensor([[0.25, 0.75]]), torch.tensor([[2.0, 1.0]])).tolist()
        [0.25]
    """
    return negatives.gather(1, class_scores.argmax(dim=1, keepdim=True)).squeeze(1)


class OpenWorld(Detector):
    """LOND-DRS's score (Pan et al., AAAI 2025, Eq. 15): one-vs-all log odds and prototype class scores, no fit.

    The evidence carries the log odds (positive minus negative one-vs-all logit) as ``logits`` and the prototype logits
    as ``class_scores``. Before there are prototypes the caller passes the log odds as both, as ``LondDrs`` does itself.

    Examples:
        >>> import torch
        >>> log_odds = torch.tensor([[4.0, -4.0], [-4.0, -4.0]])
        >>> scores = OpenWorld().score_features(Evidence(logits=log_odds, class_scores=torch.eye(2)))
        >>> [round(score, 2) for score in scores.tolist()]
        [0.02, 0.98]
    """

    needs = ("class_scores",)

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``sigmoid(-z_{y'})``, y' being the argmax of the class scores."""
        return open_world_score((-part(evidence, "logits").float()).sigmoid(), part(evidence, "class_scores"))
