"""When two images are near copies, pair by pair."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lond.audit.copies.near import NearSettings, close_pairs, first_of_equal, first_places, look_alike, near_pairs
from lond.errors import ConfigError
from lond.frozen.hashes import PerceptualHashes


def turned(*degrees: float) -> Tensor:
    """Return unit vectors of mean zero at these angles in one plane."""
    across, along = torch.tensor([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]) / math.sqrt(2)
    angles = torch.tensor(degrees).deg2rad()[:, None]
    return angles.cos() * across + angles.sin() * along


def pairs(found: tuple[Tensor, Tensor]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in zip(*(part.tolist() for part in found), strict=True) if a != b}


def test_nothing_equals_an_unreadable_image() -> None:
    assert first_places(["a", "", "b", "a", ""]) == {"a": 0, "b": 2}
    assert first_of_equal(["a", "", "b", "a", ""]).tolist() == [0, 1, 2, 0, 4]
    assert first_of_equal([]).shape == (0,)


def test_the_threshold_is_a_cosine() -> None:
    bank = turned(0, 10, 90)
    assert pairs(close_pairs(bank, None, NearSettings(threshold=0.98))) == {(0, 1), (1, 0)}
    assert pairs(close_pairs(bank, None, NearSettings(threshold=0.99))) == set()
    rows, columns = close_pairs(bank, turned(91, 45), NearSettings(threshold=0.98))
    assert (rows.tolist(), columns.tolist()) == ([0], [2])


def test_where_neighbours_are_close_copies_must_be_closer() -> None:
    """Steps of five degrees: the second neighbours lie 0.004 apart, of which copies may use a tenth."""
    bank = turned(*range(0, 50, 5))
    settings = NearSettings(threshold=0.9, neighbours=2)
    assert pairs(close_pairs(bank, None, settings)) == set()
    assert len(pairs(close_pairs(bank[:2], None, settings))) == 2
    assert pairs(close_pairs(turned(*range(0, 50, 5), 20.5), None, settings)) == {(4, 10), (10, 4)}


def test_bits_are_counted_pair_by_pair() -> None:
    bits = torch.zeros(3, 64, dtype=torch.bool)
    bits[1, :12] = bits[2, :13] = True
    seen = PerceptualHashes(bits, turned(0, 0, 0))
    one, other = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
    assert look_alike(seen, one, seen, other, NearSettings()).tolist() == [True, False, True]
    assert look_alike(seen, one, seen, other, NearSettings(max_bits=0)).tolist() == [False] * 3


def test_copies_and_unreadable_images_are_not_searched() -> None:
    seen = PerceptualHashes(torch.zeros(5, 64, dtype=torch.bool), turned(0, 0, 0, 1, 90))
    hashes = ["a", "a", "", "b", "c"]
    found = pairs(near_pairs(first_of_equal(hashes), hashes, seen, NearSettings()))
    assert found == {(0, 3), (3, 0)}


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0.0}, {"threshold": 1.1}, {"apart": 0.0}, {"neighbours": 0}, {"max_bits": -1}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=f"need 0 < threshold <= 1.*{next(iter(wrong))}="):
        NearSettings(**wrong)  # type: ignore[arg-type]
