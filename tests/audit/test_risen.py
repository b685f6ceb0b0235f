"""Why a rate is higher than in the audit before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.result_samples import make_audit

from lond.audit.result import Audit
from lond.audit.risen import why_risen

ROWS = 60


def audited(wrong: float, scores: tuple[float, ...], decided: tuple[str, ...] = (), settled: int = 0) -> Audit:
    """Return an audit with an estimate of wrong labels, and scores and decisions of its first images."""
    found = make_audit(ROWS)
    table = replace(
        found.table,
        wrong_score=scores + (0.1,) * (ROWS - len(scores)),
        decided=decided + ("",) * (ROWS - len(decided)),
    )
    rate = {"estimate": wrong, "low": 0.0, "high": 1.0}
    rates: dict[str, Any] = {"wrong": rate, "foreign": None, "by_class": [{"class": "cat", "images": 50 + settled}]}
    return replace(found, table=table, summary=found.summary | {"rates": rates})


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    audited(0.091, (0.5, 0.25, 0.25)).save(tmp_path)
    return tmp_path


def test_more_was_found_than_expected(earlier: Path) -> None:
    found = audited(0.12, (1.0, 1.0, 1.0, 0.0), ("accept", "relabel", "accept", "not sure"))
    assert why_risen(earlier, found) == {
        "wrong": "up from 9.1 %: 3 of the images that you decided on have wrong labels, where 1 were expected; "
        "the others were judged again"
    }


def test_settled_conflicts_count_now(earlier: Path) -> None:
    found = audited(0.12, (1.0, 0.0, 0.0), ("accept", "keep", "keep"), settled=4)
    said = "up from 9.1 %: 4 more images count now that conflicts are settled; the others were judged again"
    assert why_risen(earlier, found) == {"wrong": said}


@pytest.mark.parametrize("estimate", [0.05, 0.0911])
def test_a_rate_that_did_not_rise_needs_no_reason(earlier: Path, estimate: float) -> None:
    assert why_risen(earlier, audited(estimate, (1.0,), ("accept",))) == {}


def test_rates_that_an_audit_does_not_have(earlier: Path, tmp_path: Path) -> None:
    old = audited(0.01, (0.1,))
    replace(old, summary=old.summary | {"rates": {"closed": {"estimate": 0.01}}}).save(tmp_path / "old")
    assert why_risen(tmp_path / "old", audited(0.2, (1.0,), ("accept",))) == {}
