"""The sentences that say why an image has its verdict: true for every verdict, and for sets without foreign images."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_table
from audit.page.page_visits import written

from lond.audit.page.write import ReviewPage

pytestmark = pytest.mark.slow

VERDICTS = ("clean", "mislabelled", "duplicate conflict", "duplicate conflict", "unlabelled", "foreign", "mislabelled")
IDS = tuple(f"{at}.png" for at in range(len(VERDICTS)))
LIMIT = "an image is called so only from 65 % on"
NO_FOREIGN = "no image of this set is called foreign, because the labels fit the images too badly"


def sample(foreign: tuple[float, ...], **columns: Any) -> ReviewPage:
    """Return an image of each verdict that is likelier foreign, two of them copies; the last one was decided before."""
    table = replace(
        make_table(len(IDS)),
        id=IDS,
        path=IDS,
        verdict=VERDICTS,
        label=("cat", "cat", "cat", "dog", "", "cat", "cat"),
        suggested_label=("cat", "dog", "car", "car", "dog", "", "dog"),
        confidence=(0.2, 0.1, 0.08, 0.08, 0.1, foreign[5], 1.0),
        wrong_score=(0.1, 0.2, 0.21, 0.21, math.nan, 0.1, 1.0),
        foreign_score=foreign,
        p_value=(math.nan,) * len(IDS),
        duplicate_of=("", "", "", IDS[2], "", "", ""),
        copy=("", "", "", "exact", "", "", ""),
        quality=((),) * len(IDS),
        decided=("", "", "", "", "", "", "relabel"),
    )
    rates = {"foreign": {"estimate": 0.9, "low": 0.8, "high": 1}}
    summary = {"threshold": 0.65, "wrong_threshold": 0.4, "rates": rates}
    return ReviewPage("Why", replace(table, **columns), CLASSES, summary, None, lambda row: None)


def sentences(seen: Any) -> dict[str, str]:
    seen.page.click("#show-all")
    seen.page.select_option("#sort", "path")
    found = {}
    for place, name in enumerate(IDS):
        seen.choose(place)
        found[name] = " ".join(seen.text("#detail").split())
    return found


def test_no_sentence_contradicts_a_chance(visit: Any, tmp_path: Path) -> None:
    foreign = (0.64, 0.6, 0.785, 0.785, 0.55, 0.9, 0.0)
    found = sentences(visit(written(tmp_path, sample(foreign))))
    for place in (0, 1, 4):
        assert LIMIT in found[IDS[place]], place
    for place in (2, 3):
        assert "Called a duplicate conflict because copies of this picture have different labels." in found[IDS[place]]
    for place in (2, 3, 5, 6):
        assert LIMIT not in found[IDS[place]], place
    for text in found.values():
        told = re.search(r"Foreign \((\d+\.\d) %\) is likelier than [^.]*\(\d+\.\d %\), but " + LIMIT, text)
        assert told is None or float(told[1]) < 65
    assert "Called clean because no other verdict reaches its limit" in found[IDS[0]]
    assert "Called mislabelled because" in found[IDS[1]] and "Called" not in found[IDS[5]] + found[IDS[6]]


def test_the_chance_of_a_wrong_label_is_told_apart_from_that_of_a_class(visit: Any, tmp_path: Path) -> None:
    seen = visit(
        written(
            tmp_path,
            sample(
                (0.1, 0.362, *(0.1,) * 5), wrong_score=(0.1, 0.407, *(0.1,) * 5), confidence=(0.9, 0.266, *(0.9,) * 5)
            ),
        )
    )
    text = sentences(seen)[IDS[1]]
    assert "cat → foreign 36.2 %" in text and "Label wrong 40.7 %" in text
    assert (
        "Label wrong (40.7 %) counts all other classes together. "
        "None of them alone reaches foreign (36.2 %): dog, the likeliest, has 26.6 %. "
        "Called mislabelled because the label, if the image is not foreign, is wrong with 63.8 % (limit 40 %)."
    ) in text
    assert "unsure foreign is likelier than any class" in text


def test_a_set_in_which_nothing_is_called_foreign_names_no_limit_for_it(visit: Any, tmp_path: Path) -> None:
    foreign = (0.7, 0.72, 0.785, 0.785, 0.9, 0.9, 0.0)
    verdict = tuple("mislabelled" if name == "foreign" else name for name in VERDICTS)
    suggested = ("cat", "dog", "car", "car", "dog", "dog", "dog")
    page = sample(foreign, verdict=verdict, suggested_label=suggested, confidence=(0.2, *(0.1,) * 5, 1.0))
    seen = visit(written(tmp_path, page))
    found = sentences(seen)
    for place in (0, 1, 4, 5):
        assert NO_FOREIGN in found[IDS[place]], place
    assert not any("65 %" in text for text in found.values())
    assert "its limit: 40 % for a wrong label if the image is not foreign." in found[IDS[0]]
    seen.page.click("#tab-overview")
    text = seen.text("#panel-overview")
    assert f"But {NO_FOREIGN}." in text and "65 %" not in text and "from 0.65 on" not in text
    assert "65 %" not in seen.page.get_attribute("#unsure-chip", "title")
