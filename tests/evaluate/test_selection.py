"""Quality of a partition, counted by hand and by a loop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lond.evaluate import selection_quality
from lond.types import FOREIGN, Partition


def _partition(codes: Tensor, corrected: Tensor) -> Partition:
    zeros = torch.zeros(len(codes))
    return Partition(codes == 0, codes == 1, codes == 2, zeros, corrected, zeros, zeros)


def test_by_hand() -> None:
    given = torch.tensor([0, 1, 2, 0, 1, 2])
    true = torch.tensor([0, 1, 0, 1, FOREIGN, FOREIGN])  # clean, clean, closed, closed, open, open
    judged = torch.tensor([0, 1, 0, 1, 1, 2])
    corrected = torch.tensor([0, 0, 2, 1, 0, 2])
    quality = selection_quality(_partition(judged, corrected), given, true)
    assert quality == pytest.approx(
        {
            "clean_precision": 1 / 2,
            "clean_recall": 1 / 2,
            "clean_share": 1 / 3,
            "closed_precision": 1 / 3,
            "closed_recall": 1 / 2,
            "closed_share": 1 / 2,
            "open_precision": 1,
            "open_recall": 1 / 2,
            "open_share": 1 / 6,
            "corrected_accuracy": 1 / 2,
            "label_accuracy": 1 / 2,
        }
    )


def _slow(judged: list[int], corrected: list[int], given: list[int], true: list[int]) -> dict[str, float]:
    kinds = [2 if t == FOREIGN else 0 if t == g else 1 for g, t in zip(given, true, strict=True)]
    result = {}
    for code, name in enumerate(("clean", "closed", "open")):
        chosen = [i for i, j in enumerate(judged) if j == code]
        wanted = [i for i, k in enumerate(kinds) if k == code]
        both = len(set(chosen) & set(wanted))
        result[f"{name}_precision"] = both / len(chosen) if chosen else math.nan
        result[f"{name}_recall"] = both / len(wanted) if wanted else math.nan
        result[f"{name}_share"] = len(chosen) / len(judged)
    known_closed = [i for i, j in enumerate(judged) if j == 1 and true[i] != FOREIGN]
    kept = [i for i, j in enumerate(judged) if j == 0]
    result["corrected_accuracy"] = (
        sum(corrected[i] == true[i] for i in known_closed) / len(known_closed) if known_closed else math.nan
    )
    result["label_accuracy"] = sum(corrected[i] == true[i] for i in kept) / len(kept) if kept else math.nan
    return result


@pytest.mark.parametrize("seed", range(10))
def test_against_a_loop(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    count = 5 if seed < 5 else 200
    given = torch.randint(0, 4, (count,), generator=generator)
    true = torch.randint(-1, 4, (count,), generator=generator)
    judged = torch.randint(0, 3, (count,), generator=generator)
    corrected = torch.where(judged == 1, torch.randint(0, 4, (count,), generator=generator), given)
    quality = selection_quality(_partition(judged, corrected), given, true)
    expected = _slow(judged.tolist(), corrected.tolist(), given.tolist(), true.tolist())
    assert quality == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_empty_set_has_no_precision() -> None:
    labels = torch.tensor([0, 1])
    quality = selection_quality(_partition(torch.tensor([0, 0]), labels), labels, labels)
    assert math.isnan(quality["open_precision"]) and math.isnan(quality["open_recall"])
    assert math.isnan(quality["corrected_accuracy"])
    assert quality["open_share"] == 0
    assert quality["label_accuracy"] == quality["clean_recall"] == 1


def test_lengths_must_match() -> None:
    labels = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="equally long"):
        selection_quality(_partition(torch.tensor([0, 0]), labels), labels, torch.tensor([0]))
