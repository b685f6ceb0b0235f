"""Decisions of a person as truth: what they say, what they refuse, and an audit that follows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from audit.audit_samples import PoolFeatures, add_trouble, truth, write_folder
from audit.test_run import run
from methods.tiny import tiny_samples
from PIL import Image

import lond.audit.run
import lond.frozen.read
from lond.audit.copies.duplicates import find_duplicates
from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.decisions import Choice, ReviewDecision
from lond.audit.correct.link_tree import write_link_tree
from lond.audit.judge.learn import Learned, Learning
from lond.audit.second_look import SecondLook, after_decisions, second_look, with_confirmed
from lond.audit.settings import AuditSettings
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.errors import DataError
from lond.frozen.cache import Features
from lond.runs import load_run
from lond.types import UNLABELLED, Samples, Verdict

SAMPLES = tiny_samples(6, labels=torch.tensor([0, 1, 2, 0, 1, UNLABELLED]), truth=False)
NAMES = SAMPLES.class_names


def decided(**choices: ReviewDecision) -> SecondLook:
    return second_look({SAMPLES.ids[int(place[1:])]: choice for place, choice in choices.items()}, SAMPLES)


def test_every_decision_says_what_it_means() -> None:
    look = decided(
        _0=ReviewDecision(Choice.ACCEPT, "", "mislabelled", NAMES[1]),
        _1=ReviewDecision(Choice.RELABEL, NAMES[2]),
        _2=ReviewDecision(Choice.FOREIGN),
        _3=ReviewDecision(Choice.KEEP),
        _4=ReviewDecision(Choice.NOT_SURE, "", "mislabelled", NAMES[0]),
        _5=ReviewDecision(Choice.ACCEPT, "", "unlabelled", NAMES[0]),
    )
    assert look.truth.tolist() == [1, 2, NO_CLASS, 0, UNDECIDED, 0]
    assert look.words == ("accept", "relabel", "foreign", "keep", "not sure", "accept")
    assert look.decided == 6 and look.taught == 5
    verdicts = [look.verdict(place, int(SAMPLES.labels[place])) for place in range(6)]
    wrong = Verdict.MISLABELLED
    assert verdicts == [wrong, wrong, Verdict.FOREIGN, Verdict.CLEAN, None, Verdict.UNLABELLED]
    assert look.labels(SAMPLES.labels).tolist() == [1, 2, NO_CLASS, 0, 1, 0]


def test_accepted_verdicts_without_a_new_label() -> None:
    look = decided(
        _0=ReviewDecision(Choice.ACCEPT, "", "foreign"),
        _1=ReviewDecision(Choice.ACCEPT, "", "clean", NAMES[1]),
        _2=ReviewDecision(Choice.ACCEPT, "", "duplicate conflict"),
    )
    assert look.truth.tolist() == [NO_CLASS, 1, *[UNDECIDED] * 4]
    assert look.words == ("accept", "accept", "", "", "", "") and look.verdict(3, 0) is None


def test_what_was_judged_before_is_remembered() -> None:
    """But not what a person had decided before, which has a confidence of 1, nor what no file of decisions tells."""
    look = decided(
        _0=ReviewDecision(Choice.ACCEPT, "", "mislabelled", NAMES[1], confidence=0.71),
        _1=ReviewDecision(Choice.KEEP, "", "foreign"),
        _2=ReviewDecision(Choice.KEEP, "", "clean", confidence=1.0),
        _3=ReviewDecision(Choice.FOREIGN),
    )
    ids = SAMPLES.ids
    assert look.judged == {ids[0]: ("mislabelled", NAMES[1], 0.71), ids[1]: ("foreign", "", None)}


def test_exact_copies_share_the_truth_unless_they_contradict() -> None:
    look = decided(_0=ReviewDecision(Choice.KEEP), _2=ReviewDecision(Choice.FOREIGN), _4=ReviewDecision(Choice.KEEP))
    shared = look.among_copies(["a", "a", "b", "c", "b", ""])
    assert shared.truth.tolist() == [0, 0, UNDECIDED, UNDECIDED, UNDECIDED, UNDECIDED]
    assert shared.words == ("keep", "", "", "", "", "") and "1 image were decided differently" in shared.notes[0]
    assert look.key != shared.key


def test_copies_follow_decisions_on_the_label_that_they_share() -> None:
    """One label found wrong, a decided conflict, a copy of two that were decided differently, one called foreign."""
    given = torch.tensor([0, 0, 0, 1, 0, 0, 0, 1, 1, 2])
    found = find_duplicates(["a", "a", "b", "b", "c", "c", "c", "d", "d", ""], given)
    assert found.conflict.tolist() == [False, False, True, True, *[False] * 6]
    truth = torch.tensor([2, UNDECIDED, 1, UNDECIDED, 1, 2, UNDECIDED, NO_CLASS, UNDECIDED, UNDECIDED])
    after = after_decisions(found, given, truth)
    assert after.conflict.tolist() == [False, False, False, False, True, True, True, False, False, False]
    assert torch.equal(after.groups, found.groups)
    nothing = torch.full_like(given, UNDECIDED)
    assert torch.equal(after_decisions(found, given, nothing).conflict, found.conflict)
    no = torch.zeros(0, dtype=torch.long)
    assert len(after_decisions(find_duplicates([], no), no, no).conflict) == 0


def test_strange_images_and_labels_are_refused() -> None:
    with pytest.raises(DataError, match="name images that .* lacks: 'nobody'"):
        second_look({"nobody": ReviewDecision(Choice.KEEP)}, SAMPLES)
    with pytest.raises(DataError, match=f"decision on '{SAMPLES.ids[0]}': 'zebra' is not a class"):
        second_look({SAMPLES.ids[0]: ReviewDecision(Choice.RELABEL, "zebra")}, SAMPLES)


def test_an_audit_follows_the_decisions_and_learns_from_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
    write_folder(tmp_path / "images")
    add_trouble(tmp_path / "images")
    first = run(tmp_path / "images")
    lines = ["id,decision,new_label,verdict,suggested_label"]
    chosen = [*[name for name in first.table.id if "other_" in name][:8], "blue/blue_20.png", "red/red_30.png"]
    for name in chosen:
        lines.append(f"{name},{'foreign' if truth(name) == 'foreign' else 'keep'},,,")
    (tmp_path / "decisions.csv").write_text("\n".join(lines) + "\n")
    second = run(tmp_path / "images", decisions=tmp_path / "decisions.csv", folder=tmp_path / "heads")
    rows = {row["id"]: row for row in second.table.rows()}
    for name in chosen[:8]:
        assert (rows[name]["verdict"], rows[name]["confidence"], rows[name]["decided"]) == ("foreign", 1, "foreign")
    assert (rows["red/red_30.png"]["verdict"], rows["red/red_30.png"]["decided"]) == ("clean", "keep")
    # The decision settles the conflict with an exact copy under another label.
    copy = rows["red/elsewhere.png"]
    assert (copy["verdict"], copy["suggested_label"], copy["decided"]) == ("mislabelled", "blue", "")
    before = sum(row["verdict"] == "foreign" for row in first.table.rows() if truth_or_none(row["id"]) == "foreign")
    after = sum(row["verdict"] == "foreign" for row in rows.values() if truth_or_none(row["id"]) == "foreign")
    assert after >= max(before, 11)
    look = second.summary["second_look"]
    assert look["decided"] == look["taught"] == 10 and load_run(tmp_path / "heads" / look["model"]).finished


def test_a_rejected_verdict_stays_what_it_is_and_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
    write_folder(tmp_path / "images")
    first = run(tmp_path / "images")
    name = first.select(verdict="mislabelled").id[0]
    second = run(tmp_path / "images", decisions={name: ReviewDecision(Choice.NOT_SURE, "", "mislabelled")})
    (row,) = (row for row in second.table.rows() if row["id"] == name)
    assert (row["verdict"], row["decided"]) == ("mislabelled", "not sure") and row["confidence"] < 1
    assert second.counts == first.counts and second.summary["counts"] == first.summary["counts"]
    (image,) = (image for image in plan_corrections(second.table).images if image.id == name)
    assert (image.action, image.label, image.why) == ("keep", image.given, "a person was not sure")


def truth_or_none(name: str) -> str:
    return truth(name) if "_" in name else ""


def test_decisions_on_dark_pictures_recalibrate_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
    write_folder(tmp_path / "images")
    Image.new("RGB", (16, 16), (3, 3, 3)).save(tmp_path / "images" / "red" / "red_99.png")
    given: list[Learning] = []
    learn = lond.audit.run._learn

    def noted(seen: Samples, features: Features, how: Learning, *rest: Any) -> tuple[Learned, AuditSettings]:
        given.append(how)
        return learn(seen, features, how, *rest)

    monkeypatch.setattr(lond.audit.run, "_learn", noted)
    decisions = {name: ReviewDecision(Choice.KEEP) for name in ("red/red_30.png", "red/red_99.png")}
    found = run(tmp_path / "images", decisions=decisions)
    (dark,) = (row for row, odd in enumerate(found.table.quality) if "dark" in odd)
    assert found.table.id[dark] == "red/red_99.png"
    (how,) = given
    assert how.confirmed is not None and how.confirmed[dark]
    assert not how.confirmed[found.table.id.index("red/red_30.png")]
    assert any(note.startswith("1 decision is on pictures that are dark") for note in found.summary["notes"])


def test_decisions_on_hidden_or_confirmed_images_say_nothing_of_others() -> None:
    look = SecondLook(torch.tensor([0, 1, UNDECIDED]), ("keep", "keep", ""))
    hidden = torch.tensor([True, False, False])
    assert look.says_nothing(hidden).tolist() == [True, False, False]
    confirmed = replace(look, confirmed=torch.tensor([False, True, False]))
    assert confirmed.says_nothing(hidden).tolist() == [True, True, False]


def test_confirmed_labels_are_decisions_unless_another_is_given() -> None:
    assert with_confirmed(None, SAMPLES) is None
    samples = replace(SAMPLES, confirmed=torch.tensor([True, True, False, False, False, True]))
    look = with_confirmed(None, samples)
    assert look is not None and look.words == ("keep", "keep", "", "", "", "")
    assert look.truth.tolist() == [0, 1, *[UNDECIDED] * 4] and "2 labels of the corrected set were" in look.notes[0]
    look = with_confirmed(decided(_0=ReviewDecision(Choice.FOREIGN), _2=ReviewDecision(Choice.KEEP)), samples)
    assert look is not None and look.truth.tolist() == [NO_CLASS, 1, 2, *[UNDECIDED] * 3]
    assert look.words == ("foreign", "keep", "keep", "", "", "")
    assert look.confirmed is not None and look.confirmed.tolist() == [False, True, False, False, False, False]


def test_an_audit_of_the_corrected_set_knows_what_was_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
    write_folder(tmp_path / "images")
    first = run(tmp_path / "images")
    # A person insists on labels that the audit doubts.
    doubted = first.select(verdict="mislabelled").id[:2]
    plan = plan_corrections(first.table, {name: ReviewDecision(Choice.KEEP) for name in doubted})
    write_link_tree(tmp_path / "corrected", plan, tmp_path / "images")
    heads = tmp_path / "heads"
    for _ in range(2):
        again = run(tmp_path / "corrected", folder=heads)
    rows = {row["id"]: row for row in again.table.rows()}
    assert {name for name, row in rows.items() if row["decided"]} == set(doubted)
    assert all((rows[name]["verdict"], rows[name]["decided"]) == ("clean", "keep") for name in doubted)
    assert "second_look" not in again.summary and load_run(heads / "model").finished
    assert any("2 labels of the corrected set" in note for note in again.summary["notes"])
