"""What is said about how an audit was made."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lond.audit.how_made import (
    BEYOND_TABLE,
    hard_to_see,
    learning_notes,
    map_facts,
    probability_facts,
    second_look_facts,
    seen_in_part,
    seen_part,
    shape_notes,
    told_probabilities,
)
from lond.audit.settings import AuditSettings
from lond.crossfit.decided import UNDECIDED
from lond.data.pixels import ArrayPixels, SubsetPixels
from lond.data.read.files import FilePixels


def learned(recall: float = 1.0, beside: Any = None, beyond: bool = False) -> Any:
    evidence = SimpleNamespace(near=SimpleNamespace(recall=recall))
    return SimpleNamespace(judgement=SimpleNamespace(evidence=evidence, beyond_table=beyond), beside=beside)


class _Samples(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.pixels)


def facts(pixels: Any = None, whole: bool = False, limit: float = math.inf, measures: Any = None) -> Any:
    return SimpleNamespace(samples=_Samples(pixels=pixels), whole=whole, squares_beyond=limit, measures=measures)


def beside(judged: bool = False, share: float = 0.0) -> Any:
    return SimpleNamespace(judged=judged, share=share, loss=0.5, features_loss=0.25)


def test_notes_name_what_was_unusual_in_this_order() -> None:
    assert learning_notes(learned()) == []
    searched, heeded, rough = learning_notes(learned(0.987, beside(share=0.4), beyond=True))
    assert searched == "neighbours were searched by cells, which finds about 98.7 % of them"
    assert heeded == "your probabilities count beside the features, with a weight of 40 %"
    assert rough == BEYOND_TABLE


@pytest.mark.parametrize(
    ("judged", "share", "words"),
    [(True, 0.4, "judged by them"), (False, 0.4, "count beside the features"), (False, 0.0, "add nothing")],
)
def test_what_became_of_given_probabilities(judged: bool, share: float, words: str) -> None:
    assert words in told_probabilities(beside(judged, share))
    by = "probabilities" if judged else "features"
    assert probability_facts(beside(judged, share)) == {
        "judged_by": by, "weight": share, "loss": 0.5, "features_loss": 0.25,
    }  # fmt: skip


def test_a_second_look_names_its_model_if_one_is_trained() -> None:
    look: Any = SimpleNamespace(decided=5, taught=3, key="k", judged={"a.png": ("mislabelled", "dog", 0.6)})
    facts = {"decided": 5, "taught": 3, "key": "k", "judged": {"a.png": ["mislabelled", "dog", 0.6]}}
    assert second_look_facts(look, None) == facts | {"model": ""}
    assert second_look_facts(look, Path("heads/second-look-k")) == facts | {"model": "second-look-k/model"}


def test_a_map_names_its_kind_and_its_features() -> None:
    settings = AuditSettings(map="pca")
    assert map_facts(settings, "") == {"kind": "pca", "space": "the features of the frozen network"}
    assert map_facts(settings, None) == {"kind": "pca", "space": "the features that you gave"}


def test_only_pictures_of_files_lose_their_ends() -> None:
    files = FilePixels(["wide.png"], 32)
    inside = ArrayPixels(np.zeros((2, 32, 64, 3), dtype=np.uint8))
    for pixels in (files, SubsetPixels(files, torch.tensor([0]))):
        assert seen_part(facts(pixels), "", None) == "centre square"
        assert seen_part(facts(pixels, whole=True), "", None) == "whole, padded"
        assert seen_part(facts(pixels, limit=2), "", None) == "centre square, of long pictures three squares"
    assert seen_part(facts(inside), "", beside()) == seen_part(facts(inside, whole=True), "", None) == "whole"
    assert seen_part(facts(files), None, None) == seen_part(facts(files), "", beside(judged=True)) == ""


def test_long_pictures_of_files_are_seen_in_part_unless_they_are_seen_whole() -> None:
    measures = np.zeros((4, 8), dtype=np.float32)
    measures[:, :2] = [(160, 100), (100, 155), (150, 100), (0, 0)]
    files = FilePixels(["wide.png"] * 4, 32)
    assert seen_in_part(facts(files, measures=measures), "").tolist() == [True, True, False, False]
    for other in (facts(files, whole=True, measures=measures), facts(files)):
        assert not seen_in_part(other, "").any()
    assert not seen_in_part(facts(files, measures=measures), None).any()
    measures[:, :2] = [(201, 100), (200, 100), (100, 450), (460, 100)]
    assert seen_in_part(facts(files, limit=2, measures=measures), "").tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        ([(640, 426), (400, 266), (341, 512), (160, 106), (160, 107), (240, 160), (32, 21)], False),
        ([(4928, 3264), (4288, 2848), (500, 332), (160, 105)], False),
        ([(160, 120), (320, 239), (8, 6), (7, 5)], False),
        ([(640, 400), (160, 100), (500, 313), (640, 360), (300, 500)], True),
    ],
    ids=["3:2, rounded", "cameras of nearly 3:2, rounded down", "4:3", "8:5 and longer"],
)
def test_pictures_of_3_to_2_are_not_seen_in_part_however_they_were_rounded(
    sides: list[tuple[int, int]], told: bool
) -> None:
    measures = np.zeros((len(sides), 8), dtype=np.float32)
    measures[:, :2] = sides
    files = FilePixels(["wide.png"] * len(sides), 32)
    for limit in (math.inf, 2):
        assert seen_in_part(facts(files, limit=limit, measures=measures), "").tolist() == [told] * len(sides)


@pytest.mark.parametrize(("long", "told"), [(2, True), (1, False), (0, False)])
def test_many_long_pictures_are_worth_a_hint(long: int, told: bool) -> None:
    notes = shape_notes(np.arange(10) < long, np.arange(10) < 5, None)
    assert len(notes) == told and (not told or (notes[0].startswith("20 % of") and "--whole" in notes[0]))
    assert not shape_notes(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), None)


def test_decisions_on_pictures_that_are_hard_to_see_are_counted() -> None:
    look: Any = SimpleNamespace(truth=torch.tensor([2, -1, *[UNDECIDED] * 30]))
    odd = hard_to_see([("seen in part",), (), ("dark", "grey"), ("grey",), *[()] * 28])
    assert odd.tolist() == [True, False, True, *[False] * 29]
    (note,) = shape_notes(np.zeros(32, dtype=bool), odd, look)
    assert note == (
        "1 decision is on pictures that are dark, bright, blurred, uniform or seen in part; "
        "it counts for these pictures, but is not used to judge others"
    )
    assert "2 decisions are on" in shape_notes(np.zeros(32, dtype=bool), np.ones(32, dtype=bool), look)[0]
