"""Maximum softmax probability, the common score of softmax classifiers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def msp_score(logits: Tensor) -> Tensor:
    """Return ``1 - max_c softmax(logits)_c``, ``(B, C) -> (B,)``; larger = more foreign."""
    return 1 - F.softmax(logits.float(), dim=1).amax(dim=1)
