"""Energy of the logits that follow from features of which only the largest are kept."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import Evidence, part
from lond.detect.last_layer import Head
from lond.detect.network import AnyNetwork
from lond.detect.scale import largest, ratio_of_sums
from lond.errors import ConfigError

Variant = Literal["s", "b", "p"]
"""What happens to the kept features: "s" scales them, "b" sets them to one value, "p" leaves them."""


def shape_features(features: Tensor, percentile: float = 90.0, variant: Variant = "s") -> Tensor:
    """Return features ``(B, D)`` float32 with all but the largest of each row set to zero.

    Variant "s" multiplies the kept ones by ``exp(s1 / s2)``, s1 and s2 being the sums of the row before and after;
    "b" sets each to ``s1 / k``, k being their number; "p" leaves them as they are.
    """
    features = features.float()
    top = largest(features, percentile)
    kept = top.values
    if variant == "s":
        kept = kept * ratio_of_sums(features, kept).exp()
    elif variant == "b":
        kept = (features.sum(dim=1, keepdim=True) / kept.shape[1]).expand_as(kept)
    return torch.zeros_like(features).scatter(1, top.indices, kept)


class ASH(Detector):
    """Activation shaping (Djurisic et al., ICLR 2023, arXiv 2209.09858): ASH-S, ASH-B or ASH-P, then energy.

    No fit; needs the head that follows the features, which should not be negative (the output of a ReLU).

    Examples:
        >>> evidence = Evidence(features=torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
        >>> ASH(percentile=50, head=torch.nn.Identity()).score_features(evidence).argmax().item()
        1
    """

    def __init__(
        self,
        network: AnyNetwork | None = None,
        *,
        percentile: float = 90.0,
        variant: Variant = "s",
        head: Head | None = None,
    ) -> None:
        """Set the share of each row in percent that is set to zero, the variant, and optionally a head."""
        super().__init__(network)
        if not 0 <= percentile < 100:
            raise ConfigError(f"the percentile must lie in [0, 100), not {percentile}")
        if variant not in get_args(Variant):
            raise ConfigError(f"there is no variant {variant!r} of ASH; choose one of: {', '.join(get_args(Variant))}")
        self.percentile, self.variant, self._head = percentile, variant, head

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the energy of the shaped features; raises NoNetworkError if there is neither a head nor a network."""
        shaped = shape_features(part(evidence, "features"), self.percentile, self.variant)
        return ebo_score((self._head or self.network.head)(shaped))
