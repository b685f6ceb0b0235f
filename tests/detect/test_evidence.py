"""Evidence: its parts belong together, and only rows that may count are fitted on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lond.detect import Detector, Evidence, OpenMax, TempScaling, trusted_only
from lond.detect.evidence import fit_rows, in_blocks, joined, labelled
from lond.errors import DataError


def test_evidence_of_different_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Evidence(torch.zeros(3, 2), torch.zeros(4, 2))
    with pytest.raises(ValueError, match="differ in length"):
        Evidence(torch.zeros(3, 2), maps=(torch.zeros(3, 2, 2, 2), torch.zeros(2, 2, 2, 2)))


def test_trusted_only_keeps_every_part_and_refuses_other_masks() -> None:
    maps = (torch.arange(3.0).reshape(3, 1, 1, 1), torch.arange(3.0).reshape(3, 1, 1, 1) + 5)
    whole = Evidence(torch.eye(3), None, torch.arange(3), maps)
    part = trusted_only(whole, torch.tensor([True, False, True]))
    assert part.labels.tolist() == [0, 2]
    assert part.logits is None
    assert [m.flatten().tolist() for m in part.maps] == [[0.0, 2.0], [5.0, 7.0]]
    with pytest.raises(DataError, match="must be boolean"):
        trusted_only(whole, torch.tensor([0, 2]))
    with pytest.raises(DataError, match="has 2 rows, the evidence 3"):
        trusted_only(whole, torch.tensor([True, False]))


def test_rows_for_a_fit_need_no_labels_but_mind_negative_ones() -> None:
    values = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(fit_rows(Evidence(values), "features"), values)
    assert torch.equal(fit_rows(Evidence(values, labels=torch.tensor([0, -1, 5])), "features"), values[[0, 2]])
    found, labels = labelled(Evidence(values, labels=torch.tensor([0, -2, 5])), "features")
    assert torch.equal(found, values[[0, 2]])
    assert labels.tolist() == [0, 5]


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_only_finite_rows_are_fitted_on(bad: float) -> None:
    values = torch.tensor([[1.0, 2.0], [bad, 3.0]])
    with pytest.raises(DataError, match="the features to fit the detector on are not finite"):
        fit_rows(Evidence(values), "features")
    assert len(fit_rows(Evidence(values, labels=torch.tensor([0, -1])), "features")) == 1


def test_batches_are_joined_in_order_with_their_labels() -> None:
    parts = [(Evidence(torch.full((2, 1), float(i))), torch.full((2,), i)) for i in range(3)]
    whole = joined(parts)
    assert whole.features.flatten().tolist() == whole.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert (whole.logits, whole.maps) == (None, None)


@pytest.mark.parametrize("rows", [0, 1, 3, 100])
def test_blocks_cover_every_row_once(rows: int) -> None:
    values = torch.arange(7.0)
    assert torch.equal(in_blocks(lambda block: 2 * block, values, rows), 2 * values)
    assert in_blocks(lambda block: 2 * block, values[:0], rows).shape == (0,)


@pytest.mark.parametrize("detector", [TempScaling, OpenMax])
def test_a_label_without_a_logit_is_said(detector: type[Detector]) -> None:
    with pytest.raises(DataError, match="label 3, but logits of only 3 classes"):
        detector().fit_features(Evidence(logits=torch.eye(3), labels=torch.tensor([0, 3, 1])))


def test_numpy_arrays_are_taken_as_tensors_and_other_things_refused() -> None:
    backwards = np.arange(6.0).reshape(3, 2)[::-1]
    backwards.flags.writeable = False
    found = Evidence(backwards, labels=np.array([0, 1, -1], dtype=">i8"), maps=(np.zeros((3, 1, 1, 1)),) * 2)
    assert found.features.tolist() == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]
    assert found.labels.tolist() == [0, 1, -1] and all(isinstance(part, torch.Tensor) for part in found.maps)
    with pytest.raises(DataError, match="logits must be a tensor or a NumPy array of numbers, not a list"):
        Evidence(logits=[[1.0, 2.0]])
    with pytest.raises(DataError, match="features must be .*, not an array of object"):
        Evidence(np.array([[None]]))
