"""A bank of binary classifiers, each trained on its positives and on very few negatives (CIR)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.one_vs_all import log_odds
from lond.losses.rows import check_rows


def binary_bank(logits: Tensor, labels: Tensor, negatives: Tensor) -> Tensor:
    """Return ``-log b_y - sum_n log(1 - b_n)``: only the listed classes serve as negatives.

    The released program computes ``-log(b + 1e-8)``; log space needs no such term.

    Args:
        logits: ``(B, C, 2)``; the last axis is (negative, positive).
        labels: ``(B,)`` y.
        negatives: ``(B, M)`` classes n; M may be 0.

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> logits = torch.zeros(1, 3, 2)  # every class at one half
        >>> round(binary_bank(logits, torch.tensor([0]), torch.tensor([[2]])).item(), 3)
        1.386
    """
    check_rows(logits=logits, labels=labels, negatives=negatives)
    odds = log_odds(logits)
    pulled = F.logsigmoid(odds.gather(1, labels[:, None])).sum(dim=1)
    pushed = F.logsigmoid(-odds.gather(1, negatives)).sum(dim=1)
    return -pulled - pushed


def random_negative_bank(logits: Tensor, labels: Tensor, random: torch.Generator) -> Tensor:
    """Return the loss with one random class other than the label as the negative, ``(B, C, 2) -> (B,)``.

    Examples:
        >>> random = torch.Generator().manual_seed(0)
        >>> round(random_negative_bank(torch.zeros(1, 4, 2), torch.tensor([0]), random).item(), 3)
        1.386
    """
    return binary_bank(logits, labels, draw_others(labels[:, None], logits.shape[1], random))


def hard_negative_bank(logits: Tensor, labels: Tensor, class_logits: Tensor, random: torch.Generator) -> Tensor:
    """Return the loss with two negatives: the classifier's hardest class, and a random other one.

    Args:
        logits: ``(B, C, 2)`` of the bank.
        labels: ``(B,)``.
        class_logits: ``(B, C)`` of the softmax classifier; its highest class other than the label is the hardest.
        random: draws the other negative; with two classes there is none left to draw.

    Examples:
        >>> random = torch.Generator().manual_seed(0)
        >>> round(hard_negative_bank(torch.zeros(1, 4, 2), torch.tensor([0]), torch.zeros(1, 4), random).item(), 3)
        2.079
    """
    hardest = hardest_other(class_logits, labels)
    drawn = draw_others(torch.cat([labels[:, None], hardest], dim=1), logits.shape[1], random)
    return binary_bank(logits, labels, torch.cat([hardest, drawn], dim=1))


def hardest_other(class_logits: Tensor, labels: Tensor) -> Tensor:
    """Return the class of the largest logit other than the label, ``(B, C) -> (B, 1)``; ``(B, 0)`` if C is 1.

    Examples:
        >>> hardest_other(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([0])).tolist()
        [[2]]
    """
    check_rows(class_logits=class_logits, labels=labels)
    others = class_logits.detach().float().scatter(1, labels[:, None], -torch.inf)
    return others.topk(min(1, class_logits.shape[1] - 1), dim=1).indices


def draw_others(taken: Tensor, num_classes: int, random: torch.Generator) -> Tensor:
    """Draw, for each row, one class that is not taken, uniformly at random.

    Args:
        taken: ``(B, T)`` classes, all different within a row.
        num_classes: C.
        random: a generator on the CPU.

    Returns:
        ``(B, 1)`` int64 on the device of ``taken``; ``(B, 0)`` if every class is taken.

    Examples:
        >>> draw_others(torch.tensor([[0, 2]]), 3, torch.Generator().manual_seed(0)).tolist()
        [[1]]
    """
    free = num_classes - taken.shape[1]
    if free < 1:
        return taken[:, :0]
    drawn = torch.randint(free, (len(taken), 1), generator=random).to(taken.device)
    # Counting past the taken classes in rising order maps 0..free-1 onto the free ones.
    for column in taken.sort(dim=1).values.split(1, dim=1):
        drawn = drawn + (drawn >= column)
    return drawn
