"""Records by what they are, and one by its name."""

from __future__ import annotations

import pytest

from lond.errors import DataError
from lond.results import Record, Seeds
from lond.results.choose import find, select


def record(identity: str, method: str = "sed", noise: str = "sym50", seed: int = 0, **more: str) -> Record:
    return Record(identity, "v", method, "mini80", noise, "mini", Seeds(seed, noise=7), {}, **more)


RECORDS = [
    record("aa1"),
    record("aa2", seed=1, preset="mini80-sym50"),
    record("b", "standard", "asym40"),
]


def test_what_is_not_asked_for_does_not_matter() -> None:
    assert select(RECORDS) == RECORDS
    assert select(RECORDS, method="sed") == RECORDS[:2]
    assert select(RECORDS, method=["standard", "sed"], noise="asym40") == RECORDS[2:]
    assert select(RECORDS, preset="") == [RECORDS[0], RECORDS[2]]
    assert select(RECORDS, data="cifar80n") == select(RECORDS, scale=()) == []


def test_the_seed_is_that_of_the_training() -> None:
    assert select(RECORDS, seed=1) == RECORDS[1:2]
    assert select(RECORDS, seed=[0, 1], method="sed") == RECORDS[:2]
    assert select(RECORDS, seed=7) == []


def test_a_whole_name_wins_over_a_beginning() -> None:
    longer = record("b2")
    assert find([longer, *RECORDS], "b") is RECORDS[2]
    assert find(RECORDS, RECORDS[0].name) is find(RECORDS, f"{RECORDS[0].name}.json") is RECORDS[0]
    assert find(RECORDS, "mini80-asym40") is RECORDS[2]


@pytest.mark.parametrize("name", ["cifar", "", ".json"])
def test_a_name_of_none_says_where_the_names_are(name: str) -> None:
    with pytest.raises(DataError, match="there is no record .*; `lond results` lists the names"):
        find(RECORDS, name)


def test_a_name_of_several_names_two_of_them() -> None:
    with pytest.raises(DataError, match="'aa' is the beginning of 2 records, e.g. .*-aa1, .*-aa2"):
        find(RECORDS, "aa")
