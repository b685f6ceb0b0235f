"""Loss mixup (Eq. 3): mix two inputs, and mix their losses rather than their labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lond.losses.rows import check_rows


@dataclass(frozen=True)
class Mix:
    """Mixing of a batch: row i becomes ``ratio * x[i] + (1 - ratio) * x[partners[i]]``.

    Examples:
        >>> mix_inputs(torch.tensor([0.0, 4.0]), Mix(0.75, torch.tensor([1, 0]))).tolist()
        [1.0, 3.0]
    """

    ratio: float
    partners: Tensor


def draw_mix(size: int, concentration: float, generator: torch.Generator, *, fold: bool = True) -> Mix:
    """Draw ``lambda ~ Beta(a, a)``, take ``max(lambda, 1 - lambda)``, and draw one permutation of the batch.

    A concentration of 0 switches mixing off (ratio 1). Without ``fold`` the ratio stays as drawn, also below 0.5.

    Examples:
        >>> mix = draw_mix(4, concentration=1.0, generator=torch.Generator().manual_seed(0))
        >>> mix.ratio >= 0.5, sorted(mix.partners.tolist())
        (True, [0, 1, 2, 3])
    """
    partners = torch.randperm(size, generator=generator)
    # torch's Beta takes no generator; NumPy's does, seeded from ours.
    seed = int(torch.randint(2**62, (1,), generator=generator))
    ratio = float(np.random.default_rng(seed).beta(concentration, concentration)) if concentration > 0 else 1.0
    return Mix(max(ratio, 1 - ratio) if fold else ratio, partners)


def mix_inputs(inputs: Tensor, mix: Mix) -> Tensor:
    """Return the mixed batch, same shape as ``inputs``.

    Examples:
        >>> mix_inputs(torch.tensor([[0.0], [4.0]]), Mix(0.75, torch.tensor([1, 0]))).tolist()
        [[1.0], [3.0]]
    """
    check_rows(inputs=inputs, partners=mix.partners)
    return torch.lerp(inputs[mix.partners.to(inputs.device)], inputs, mix.ratio)


def mix_losses(loss: Callable[[Tensor], Tensor], targets: Tensor, mix: Mix) -> Tensor:
    """Return ``lambda L(x_mix, y_a) + (1 - lambda) L(x_mix, y_b)`` (Eq. 3).

    Args:
        loss: maps targets ``(B, C)`` to per-sample losses ``(B,)`` of the mixed batch.
        targets: ``(B, C)``, before mixing.
        mix: the mixing that made the inputs.

    Examples:
        >>> mix = Mix(0.75, torch.tensor([1, 0]))
        >>> mix_losses(lambda targets: targets[:, 0], torch.eye(2), mix).tolist()
        [0.75, 0.25]
    """
    check_rows(targets=targets, partners=mix.partners)
    return mix.ratio * loss(targets) + (1 - mix.ratio) * loss(targets[mix.partners.to(targets.device)])
