"""The final verdict on labelled samples, from the output of a trained model."""

from __future__ import annotations

from torch import Tensor

from lond.types import Verdict


def judge(labels: Tensor, predicted: Tensor, scores: Tensor, threshold: float) -> list[Verdict]:
    """Return one verdict per sample: foreign above the threshold, otherwise mislabelled if the prediction differs.

    Args:
        labels: ``(N,)`` given labels; negative = unlabelled, which is the verdict unless the image is foreign.
        predicted: ``(N,)`` the model's classes.
        scores: ``(N,)`` foreign scores; larger = more foreign.
        threshold: score above which an image is foreign.

    Examples:
        >>> import torch
        >>> judge(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), torch.tensor([0.1, 0.2, 0.9]), threshold=0.5)
        [<Verdict.CLEAN: 'clean'>, <Verdict.MISLABELLED: 'mislabelled'>, <Verdict.FOREIGN: 'foreign'>]
    """
    rows = zip(labels.tolist(), predicted.tolist(), scores.tolist(), strict=True)
    return [_judge_one(label, own, score > threshold) for label, own, score in rows]


def _judge_one(label: int, predicted: int, foreign: bool) -> Verdict:
    if foreign:
        return Verdict.FOREIGN
    if label < 0:
        return Verdict.UNLABELLED
    return Verdict.CLEAN if label == predicted else Verdict.MISLABELLED
