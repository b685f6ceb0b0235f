"""What an audit found: counts, the choice of rows, and pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from audit.result_samples import make_audit, one_image

from lond.audit.contents import AuditContents
from lond.audit.page.columns import sureness
from lond.errors import ConfigError, DataError
from lond.types import Verdict


@pytest.fixture(scope="module")
def found() -> AuditContents:
    return make_audit()


def test_it_counts(found: AuditContents) -> None:
    assert len(found) == 300
    assert set(found.counts) == set(Verdict)
    assert sum(found.counts.values()) == 300
    assert found.counts["clean"] == found.table.verdict.count("clean")
    assert one_image().counts["foreign"] == 0


def test_the_short_text_says_the_main_things(found: AuditContents) -> None:
    text = repr(found)
    assert text.startswith("Audit of my images: 300 images, 10 classes")
    assert f"{found.counts['mislabelled']} mislabelled" in text
    assert "estimated wrong labels: 12.0 % (10.4–13.9 %)" in text
    assert len(text) < 400
    assert "estimated" not in repr(one_image())
    assert "unreadable" not in repr(one_image())


def test_rows_are_chosen_by_verdict_and_label_surest_first(found: AuditContents) -> None:
    chosen = found.select(verdict="mislabelled")
    assert set(chosen.verdict) == {"mislabelled"}
    assert len(chosen) == found.counts["mislabelled"]
    assert list(chosen.confidence) == sorted(chosen.confidence, reverse=True)
    cats = found.select("mislabelled", "cat")
    assert set(cats.label) == {"cat"}
    assert len(cats) == sum(label == "cat" for label in chosen.label)
    assert len(found.select()) == 300
    assert found.select(Verdict.UNLABELLED, "").verdict == found.select(label="").verdict
    foreign = found.select("foreign")
    assert list(foreign.confidence) == sorted(foreign.confidence, reverse=True)


def test_what_is_not_known_comes_last(found: AuditContents) -> None:
    sure = sureness(found.select())
    known = np.isfinite(sure)
    assert not known[-1]
    assert known[: int(known.sum())].all()


def test_an_unknown_verdict_or_class_is_refused(found: AuditContents) -> None:
    with pytest.raises(ConfigError, match="'wrong' is not a verdict; it must be one of mislabelled, foreign"):
        found.select("wrong")
    with pytest.raises(ConfigError, match="'lion' is not a class; there are airplane, bird"):
        found.select(label="lion")
    assert len(one_image().select("foreign")) == 0


def test_a_picture_that_cannot_be_read_is_none(found: AuditContents) -> None:
    def gone(place: int) -> None:
        raise DataError("gone") if place else OSError("gone")

    assert replace(found, thumbnail=gone).picture(0) is replace(found, thumbnail=gone).picture(1) is None
    assert found.picture(found.places("clean")[0]).mode == "RGB"
    assert found.picture(found.places("unreadable")[0]) is None


def test_a_label_may_be_in_the_table_alone(found: AuditContents) -> None:
    """A class list may be shorter than the table, e.g. after labels were edited by hand."""
    table = replace(found.table, label=("lion", *found.table.label[1:]))
    assert replace(found, table=table).places(label="lion") == [0]


def test_equally_sure_rows_keep_their_order() -> None:
    one = one_image()
    table = one.table.take([0, 0, 0])
    assert replace(one, table=table).places() == [0, 1, 2]
    assert replace(one, table=replace(table, confidence=(0.5, 0.9, 0.5))).places() == [1, 0, 2]
