"""The few things that travel through the package."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lond.types import FOREIGN, UNLABELLED, Clock, Partition, Phase, Samples, Stream, Verdict


def test_a_verdict_is_its_text() -> None:
    assert f"{Verdict.DUPLICATE_CONFLICT}" == "duplicate conflict"
    with pytest.raises(ValueError, match="tidy"):
        Verdict("tidy")
    assert len({FOREIGN, UNLABELLED, 0}) == 3 and max(FOREIGN, UNLABELLED) < 0


@pytest.mark.parametrize("part", ["pixels", "labels", "ids", "true_labels"])
def test_parts_of_samples_have_one_length(part: str) -> None:
    parts: dict[str, Any] = {
        "pixels": range(3), "labels": torch.zeros(3), "ids": ("a", "b", "c"), "true_labels": torch.zeros(3),
    }  # fmt: skip
    samples = Samples(class_names=("x", "y"), **parts)
    assert (len(samples), samples.num_classes) == (3, 2)
    with pytest.raises(ValueError, match=r"differ in length: \[2, 3\]"):
        Samples(class_names=("x", "y"), **parts | {part: parts[part][:2]})


def test_other_labels_leave_the_rest() -> None:
    pixels: Any = range(2)
    samples = Samples(pixels, torch.tensor([0, 1]), ("x", "y"), ("a", "b"), torch.tensor([1, 1]), "here")
    changed = samples.with_labels(torch.tensor([1, UNLABELLED]), None)
    assert (changed.labels.tolist(), changed.true_labels) == ([1, UNLABELLED], None)
    assert (changed.ids, changed.origin, samples.labels.tolist()) == (("a", "b"), "here", [0, 1])


def test_time_counts_parts_of_an_epoch() -> None:
    assert [Clock(2).time, Clock(2, 3, 4).time] == [2.0, 2.75]


def test_a_warm_up_is_known_by_its_name() -> None:
    streams = {"all": Stream(torch.arange(3))}
    assert Phase("warm-up net1", streams, lead=3).is_warmup
    assert not Phase("net1", streams, lead=3).is_warmup


def test_a_partition_is_stored_without_what_it_lacks() -> None:
    clean, closed = torch.tensor([True, False, False]), torch.tensor([False, False, True])
    partition = Partition(clean, closed, ~(clean | closed), torch.tensor([1.0, 0.0, 0.4]), torch.tensor([2, 0, 1]))
    assert partition.names() == ["clean", "open", "closed"]
    state = partition.state_dict()
    assert set(state) == {"clean", "closed", "open", "weights", "corrected"}
    again = Partition.from_state_dict(state).to("cpu")
    assert again.names() == partition.names() and again.neighbour_margin is None
    assert set(Partition(**state, negative_margin=torch.zeros(3)).to("cpu").state_dict()) == {*state, "negative_margin"}
