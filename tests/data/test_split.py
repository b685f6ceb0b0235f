import pytest
import torch

from lond.data.pixels import ArrayPixels
from lond.data.split import hold_out, take
from lond.errors import ConfigError
from lond.types import Samples


def test_holds_out_the_share_of_every_class():
    labels = torch.tensor([0] * 100 + [1] * 10 + [2] + [-2] * 20)
    kept, held = hold_out(labels, 0.29, seed=0)
    assert sorted(torch.cat([kept, held]).tolist()) == list(range(131))
    assert labels[held].bincount(minlength=3).tolist() == [29, 2, 0]
    assert (labels[kept] == -2).sum() == 20


def test_depends_on_the_seed_alone():
    labels = torch.arange(200) % 4
    assert torch.equal(hold_out(labels, 0.5, 1)[1], hold_out(labels, 0.5, 1)[1])
    assert not torch.equal(hold_out(labels, 0.5, 1)[1], hold_out(labels, 0.5, 2)[1])


def test_nothing_held_out():
    kept, held = hold_out(torch.tensor([0, 1]), 0.0, 0)
    assert kept.tolist() == [0, 1]
    assert held.tolist() == []


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_refuses_shares_that_mean_nothing(share):
    with pytest.raises(ConfigError, match="share"):
        hold_out(torch.tensor([0]), share, 0)


def test_take_keeps_all_parts_together():
    images = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1).expand(4, 1, 8, 8)
    samples = Samples(
        ArrayPixels(images), torch.tensor([0, 1, 0, 1]), ("a", "b"), ("p", "q", "r", "s"), torch.tensor([0, 0, -1, 1])
    )
    part = take(samples, torch.tensor([3, 1]))
    assert part.ids == ("s", "q")
    assert part.labels.tolist() == [1, 1]
    assert part.true_labels is not None
    assert part.true_labels.tolist() == [1, 0]
    assert part.pixels.fingerprint() != samples.pixels.fingerprint()
    assert len(part.pixels) == 2
