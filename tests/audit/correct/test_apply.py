"""What becomes of every image: rules, decisions, copies, the summary and the corrected table."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lond.audit.correct.apply import SURELY_CALLED, plan_corrections, read_decisions, write_corrected_csv
from lond.audit.correct.decisions import Choice, ReviewDecision
from lond.audit.correct.place import is_corrected
from lond.audit.correct.plan import Action, CorrectionPlan, Reason
from lond.audit.table import NUMBERS, TEXTS, AuditTable
from lond.crossfit.chances import FOREIGN_FROM
from lond.data.options import ReadOptions
from lond.data.read.tables import read_table
from lond.errors import ConfigError, DataError
from lond.types import UNLABELLED

ROWS = (
    {"id": "clean", "label": "cat", "verdict": "clean", "suggested_label": "cat", "confidence": 0.99},
    {"id": "sure", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "confidence": 0.95},
    {"id": "unsure", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "confidence": 0.4},
    {"id": "foreign", "label": "dog", "verdict": "foreign", "confidence": 0.9},
    {"id": "odd", "label": "dog", "verdict": "foreign", "p_value": 0.7},
    {"id": "broken", "label": "dog", "verdict": "unreadable"},
    {"id": "bare", "verdict": "unlabelled", "suggested_label": "dog", "confidence": 0.99},
    {"id": "clash", "label": "cat", "verdict": "duplicate conflict", "suggested_label": "dog", "confidence": 0.99},
    {"id": "copy", "label": "cat", "verdict": "clean", "suggested_label": "cat", "duplicate_of": "clean"},
)


def table_of(*rows: dict[str, Any]) -> AuditTable:
    filled: list[dict[str, Any]] = [
        {**dict.fromkeys(TEXTS, ""), **dict.fromkeys(NUMBERS, math.nan), "neighbours": (), "quality": ()}
        | {"path": f"{row['id']}.png"}
        | row
        for row in rows
    ]
    names = (*TEXTS, *NUMBERS, "neighbours", "quality")
    return AuditTable(**{name: tuple(row[name] for row in filled) for name in names})


def actions(plan: CorrectionPlan) -> dict[str, str]:
    """Return id -> the label it gets, or "-" if it is left out."""
    return {image.id: "-" if image.action == Action.LEAVE_OUT else image.label for image in plan.images}


def planned(decisions: Mapping[str, ReviewDecision] | None = None, **rules: Any) -> dict[str, str]:
    return actions(plan_corrections(table_of(*ROWS), decisions, **rules))


DEFAULT = {
    "clean": "cat", "sure": "dog", "unsure": "cat", "foreign": "-", "odd": "dog", "broken": "-", "bare": "",
    "clash": "-", "copy": "cat",
}  # fmt: skip


def test_rules_without_decisions() -> None:
    assert planned() == planned({}) == DEFAULT
    assert planned(min_confidence=0.3) == DEFAULT | {"unsure": "dog"}
    assert planned(min_confidence=0.96) == DEFAULT | {"sure": "cat"}
    assert planned(drop_foreign=False) == DEFAULT | {"foreign": "dog"}
    assert planned(min_foreign=0.2) == DEFAULT | {"odd": "-"}
    assert planned(min_foreign=0.95) == DEFAULT | {"foreign": "dog"}
    called = {"id": "called", "label": "cat", "verdict": "foreign", "foreign_score": 0.55, "confidence": 0.55}
    assert actions(plan_corrections(table_of(called))) == {"called": "-"}
    assert actions(plan_corrections(table_of(called), min_foreign=0.6)) == {"called": "cat"}
    assert planned(keep_undecided=False) == DEFAULT | {"unsure": "-", "odd": "-", "bare": "-"}
    assert planned(drop_copies=True) == DEFAULT | {"copy": "-"}
    assert planned(drop_foreign=False, keep_undecided=False)["foreign"] == "dog"


def test_thresholds_include_their_ends() -> None:
    assert planned(min_confidence=0.95)["sure"] == "dog"
    assert planned(min_foreign=0.9)["foreign"] == "-"


def test_without_evidence_nothing_is_done() -> None:
    table = table_of(
        {"id": "a", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog"},
        {"id": "b", "label": "cat", "verdict": "mislabelled", "confidence": 1.0},
        {"id": "c", "label": "cat", "verdict": "foreign"},
    )
    assert actions(plan_corrections(table, min_confidence=0, min_foreign=0)) == dict.fromkeys("abc", "cat")


def test_a_lower_chance_leaves_out_more_whatever_the_verdict() -> None:
    assert SURELY_CALLED == FOREIGN_FROM
    rows = [
        {"id": "a", "label": "cat", "verdict": "clean", "foreign_score": 0.6, "confidence": 0.4},
        {"id": "b", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "foreign_score": 0.3},
        {"id": "c", "label": "cat", "verdict": "foreign", "foreign_score": 0.7, "confidence": 0.7},
        {"id": "d", "label": "cat", "verdict": "clean", "foreign_score": 0.9, "confidence": 0.1},
        {"id": "e", "label": "cat", "verdict": "clean", "foreign_score": 0.6, "p_value": 0.5},
    ]
    table = table_of(*rows)
    assert actions(plan_corrections(table)) == {**dict.fromkeys("abde", "cat"), "c": "-"}
    left_out = {**dict.fromkeys("bde", "cat"), "a": "-", "c": "-"}
    assert actions(plan_corrections(table, min_foreign=0.5)) == left_out
    assert actions(plan_corrections(table, min_foreign=0.5, drop_foreign=False)) == dict.fromkeys("abcde", "cat")


def test_images_that_need_a_look_are_marked() -> None:
    table = table_of(
        {"id": "a", "label": "cat", "verdict": "clean", "foreign_score": 0.5, "confidence": 0.4},
        {"id": "b", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "foreign_score": 0.6},
        {"id": "c", "label": "cat", "verdict": "clean", "foreign_score": 0.49, "quality": ("odd shape", "grey")},
        {"id": "d", "label": "cat", "verdict": "foreign", "confidence": 0.9, "quality": ("dark", "odd size")},
        {"id": "e", "label": "cat", "verdict": "clean", "foreign_score": 0.6, "p_value": 0.5},
    )

    def likely(**rules: Any) -> list[str]:
        return [image.id for image in plan_corrections(table, **rules).kept if image.likely_foreign]

    assert likely() == ["a", "b"]
    assert likely(min_foreign=0.5) == likely(drop_foreign=False) == []
    assert [image.hard_to_see for image in plan_corrections(table).images] == [(), (), (), ("dark",), ()]
    seen = {"b": ReviewDecision(Choice.KEEP), "d": ReviewDecision(Choice.FOREIGN)}
    told = plan_corrections(table, seen)
    assert [image.id for image in told.kept if image.likely_foreign] == ["a"]
    assert not any(image.hard_to_see for image in told.images)


@pytest.mark.parametrize("choice", list(Choice))
def test_a_person_wins_over_the_table(choice: Choice) -> None:
    decisions = {row["id"]: ReviewDecision(choice, "dog" if choice == Choice.RELABEL else "") for row in ROWS}
    given = {row["id"]: row.get("label", "") for row in ROWS}
    expected = {
        Choice.ACCEPT: DEFAULT | {"unsure": "dog", "odd": "-", "bare": "dog", "clash": "dog"},
        Choice.NOT_SURE: given,
        Choice.KEEP: given,
        Choice.RELABEL: dict.fromkeys(given, "dog"),
        Choice.FOREIGN: dict.fromkeys(given, "-"),
    }[choice]
    for rules in ({}, {"keep_undecided": False, "drop_copies": True, "drop_foreign": False, "min_confidence": 1.0}):
        assert planned(decisions, **rules) == expected | {"broken": "-"}


def test_what_was_accepted_is_what_was_seen() -> None:
    seen = {"clean": ReviewDecision(Choice.ACCEPT, verdict="mislabelled", suggested_label="dog")}
    assert planned(seen)["clean"] == "dog"
    assert planned({"sure": ReviewDecision(Choice.ACCEPT, verdict="foreign")})["sure"] == "-"
    assert planned({"sure": ReviewDecision(Choice.ACCEPT, verdict="clean", suggested_label="cat")})["sure"] == "cat"
    assert planned({"clash": ReviewDecision(Choice.ACCEPT, verdict="duplicate conflict")})["clash"] == "-"
    assert planned({"bare": ReviewDecision(Choice.ACCEPT, verdict="unlabelled")})["bare"] == ""


def test_a_label_that_is_given_already_is_no_change() -> None:
    plan = plan_corrections(table_of(*ROWS), {"clean": ReviewDecision(Choice.RELABEL, "cat")})
    assert plan.images[0].action == Action.KEEP


def test_unknown_ids_and_labels_are_refused() -> None:
    strangers = {f"x{number}": ReviewDecision(Choice.NOT_SURE) for number in range(7)}
    with pytest.raises(DataError, match="'x0', 'x1', 'x2', 'x3', 'x4' and 2 others"):
        planned(strangers)
    for new in (ReviewDecision(Choice.RELABEL, "eel"), ReviewDecision(Choice.ACCEPT, "", "mislabelled", "eel")):
        with pytest.raises(DataError, match="'clean': 'eel' is not a class.*--new-labels"):
            planned({"clean": new})
        assert planned({"clean": new}, allow_new_labels=True)["clean"] == "eel"
    with pytest.raises(DataError, match="needs a new label"):
        planned({"clean": ReviewDecision(Choice.RELABEL)}, allow_new_labels=True)


def test_wrong_tables_and_rules_are_refused() -> None:
    with pytest.raises(DataError, match="more than one row of 'clean'"):
        plan_corrections(table_of(ROWS[0], ROWS[0]))
    with pytest.raises(DataError, match="'tidy'"):
        plan_corrections(table_of({"id": "a", "verdict": "tidy"}))
    for rules in ({"min_confidence": 1.1}, {"min_confidence": math.nan}, {"min_foreign": -0.1}):
        with pytest.raises(ConfigError):
            planned(None, **rules)


def clean(name: str, repeats: str, verdict: str = "clean") -> dict[str, Any]:
    return {"id": name, "label": "cat", "verdict": verdict, "duplicate_of": repeats}


def test_one_of_the_images_that_repeat_each_other_stays() -> None:
    rows = [clean("a", "", "unreadable"), clean("b", "a"), clean("c", "gone"), clean("d", "c"), clean("e", "d")]
    table = table_of(*rows, clean("f", "a"))
    expected = {"a": "-", "b": "cat", "c": "cat", "d": "-", "e": "-", "f": "-"}
    assert actions(plan_corrections(table, drop_copies=True)) == expected
    wanted = {"e": ReviewDecision(Choice.NOT_SURE)}
    assert actions(plan_corrections(table, wanted, drop_copies=True)) == expected | {"e": "cat"}


def test_a_circle_of_copies_keeps_one() -> None:
    table = table_of(clean("a", "b"), clean("b", "a"), clean("c", "c"))
    assert actions(plan_corrections(table, drop_copies=True)) == {"a": "cat", "b": "-", "c": "cat"}


def test_plan_counts_and_describes() -> None:
    plan = plan_corrections(table_of(*ROWS), {"odd": ReviewDecision(Choice.FOREIGN)})
    assert len(plan) == 9 and len(plan.kept) == 5
    assert plan.counts() == {Action.KEEP: 4, Action.RELABEL: 1, Action.LEAVE_OUT: 4}
    assert plan.changes() == {("cat", "dog"): 1}
    assert sum(plan.reasons().values()) == 9
    assert {image.id: image.why for image in plan.images}["odd"] == "a person called it foreign"
    text = str(plan)
    assert text == plan.describe()
    assert text.startswith("5 of 9 images stay, 1 of them under another label; 4 are left out")
    for part in ("unreadable", "duplicate conflict", "called foreign", "confidence at least 0.5", "cat -> dog"):
        assert part in text
    assert "lose all" not in text


def test_a_plan_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clean.png").write_bytes(b"original")
    before = (tmp_path / "clean.png").stat()
    plan_corrections(table_of(*ROWS), {"clean": ReviewDecision(Choice.FOREIGN)}).describe()
    assert [path.name for path in tmp_path.iterdir()] == ["clean.png"]
    assert (tmp_path / "clean.png").stat().st_mtime_ns == before.st_mtime_ns


def test_the_corrected_table_can_be_trained_on(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    for row in ROWS:
        (source / f"{row['id']}.png").write_bytes(b"not looked at")
    plan = plan_corrections(table_of(*ROWS))
    write_corrected_csv(out / "labels.csv", plan, source)
    write_corrected_csv(source / "plain.csv", plan)
    for path in (out / "labels.csv", source / "plain.csv"):
        samples = read_table(path, options=ReadOptions(size=8))
        assert samples.class_names == ("cat", "dog") and not samples.problems
        found = dict(zip(samples.ids, samples.labels.tolist(), strict=True))
        assert found == {"clean": 0, "sure": 1, "unsure": 0, "odd": 1, "bare": UNLABELLED, "copy": 0}
        assert samples.confirmed is None
    assert [path.name for path in out.iterdir()] == ["labels.csv"]
    plan = plan_corrections(
        table_of(*ROWS), {"sure": ReviewDecision(Choice.KEEP), "odd": ReviewDecision(Choice.NOT_SURE)}
    )
    write_corrected_csv(out / "labels.csv", plan, source, overwrite=True)
    assert is_corrected(out / "labels.csv")
    samples = read_table(out / "labels.csv", options=ReadOptions(size=8))
    assert samples.confirmed is not None
    assert [name for name, known in zip(samples.ids, samples.confirmed.tolist(), strict=True) if known] == ["sure"]


def test_the_corrected_table_replaces_nothing_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("the original", encoding="utf-8")
    plan = plan_corrections(table_of({"id": "=a\udce9", "path": "=a\udce9", "label": "-x\n,", "verdict": "clean"}))
    with pytest.raises(DataError, match="exists"):
        write_corrected_csv(path, plan)
    assert path.read_text(encoding="utf-8") == "the original"
    write_corrected_csv(path, plan, overwrite=True)
    assert "'=a\\udce9,./=a\\udce9,\"'-x\n,\"" in path.read_text(encoding="utf-8")


FORMULAS = ("=1+1", "+2", "-3", "@sum", "'=quoted", "\tcell")


def test_formulas_in_the_corrected_table_are_safe_and_come_back(tmp_path: Path) -> None:
    rows = [{"id": text, "path": f"{text.strip()}.png", "label": text, "verdict": "clean"} for text in FORMULAS]
    for row in rows:
        (tmp_path / row["path"]).write_bytes(b"not looked at")
    write_corrected_csv(tmp_path / "labels.csv", plan_corrections(table_of(*rows)))
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and cell]
    samples = read_table(tmp_path / "labels.csv", options=ReadOptions(size=8))
    assert samples.ids == FORMULAS and not samples.problems
    assert set(samples.class_names) == {text.strip() for text in FORMULAS}


OUTSIDE = ("../secret.png", "cat/../../secret.png", "/etc/hostname", "C:\\x.png", "\\\\host\\x.png", "a\0b")


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("with_root", [False, True])
def test_paths_out_of_the_folder_are_refused_in_a_table_too(path: str, with_root: bool, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "cat").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"secret")
    plan = plan_corrections(table_of({"id": "a", "path": path, "label": "cat", "verdict": "clean"}))
    with pytest.raises(DataError, match="does not hold .*; give the folder that was audited as root, or allow images"):
        write_corrected_csv(tmp_path / "labels.csv", plan, source if with_root else None)
    assert not (tmp_path / "labels.csv").exists()


def test_images_outside_are_accepted_if_told_so(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "other.png").write_bytes(b"other")
    plan = plan_corrections(table_of({"id": "a", "path": "../other.png", "label": "cat", "verdict": "clean"}))
    write_corrected_csv(tmp_path / "labels.csv", plan, tmp_path / "source", allow_outside=True)
    assert "a,other.png,cat" in (tmp_path / "labels.csv").read_text(encoding="utf-8")
    write_corrected_csv(tmp_path / "as-is.csv", plan, allow_outside=True)
    assert "a,../other.png,cat" in (tmp_path / "as-is.csv").read_text(encoding="utf-8")


def test_from_the_page_to_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,decision,new_label\nclean,relabel,dog\nsure,,\n", encoding="utf-8")
    assert planned(read_decisions(path)) == DEFAULT | {"clean": "dog"}


GROUPS = (
    {"id": "a", "label": "cat", "verdict": "duplicate conflict"},
    {"id": "b", "label": "dog", "verdict": "duplicate conflict", "duplicate_of": "a"},
    {"id": "c", "label": "dog", "verdict": "duplicate conflict", "duplicate_of": "a"},
    {"id": "d", "label": "cat", "verdict": "clean"},
    {"id": "e", "label": "cat", "verdict": "clean", "duplicate_of": "d"},
    {"id": "f", "label": "cat", "verdict": "clean", "duplicate_of": "d"},
)


@pytest.mark.parametrize(
    ("apart", "conflict", "copies"),
    [
        ((), {"a": "-", "b": "-", "c": "-"}, {"d": "cat", "e": "-", "f": "-"}),
        (("a",), {"a": "cat", "b": "dog", "c": "-"}, {"d": "cat", "e": "-", "f": "-"}),
        (("b",), {"a": "-", "b": "dog", "c": "-"}, {"d": "cat", "e": "-", "f": "-"}),
        (("a", "b", "c"), {"a": "cat", "b": "dog", "c": "dog"}, {"d": "cat", "e": "-", "f": "-"}),
        (("d",), {"a": "-", "b": "-", "c": "-"}, {"d": "cat", "e": "cat", "f": "-"}),
        (("f",), {"a": "-", "b": "-", "c": "-"}, {"d": "cat", "e": "-", "f": "cat"}),
    ],
)
def test_images_that_are_not_the_same_are_no_copies(
    apart: tuple[str, ...], conflict: dict[str, str], copies: dict[str, str]
) -> None:
    table = table_of(*GROUPS)
    assert actions(plan_corrections(table, drop_copies=True, not_copies=apart)) == conflict | copies
    with pytest.raises(DataError, match="the decisions name images that the table does not: 'x'"):
        plan_corrections(table, not_copies=("x",))


LOOKED_AGAIN = (
    {"id": "kept", "label": "cat", "verdict": "clean", "suggested_label": "cat", "decided": "keep"},
    {"id": "given", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "decided": "relabel"},
    {"id": "accepted", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "decided": "accept"},
    {"id": "foreign", "label": "dog", "verdict": "foreign", "decided": "foreign"},
    {"id": "named", "verdict": "unlabelled", "suggested_label": "dog", "decided": "relabel"},
    {"id": "unsure", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog", "decided": "reject"},
    {"id": "open", "label": "cat", "verdict": "mislabelled", "suggested_label": "dog"},
    {"id": "broken", "label": "cat", "verdict": "unreadable", "decided": "keep"},
)


def test_decisions_of_a_second_look_are_the_reasons() -> None:
    table = table_of(*({"confidence": 1.0} | row for row in LOOKED_AGAIN))
    plan = plan_corrections(table, drop_foreign=False)
    assert {image.id: image.why for image in plan.images} == {
        "kept": "a person confirmed the label",
        "given": "a person gave the label",
        "accepted": "a person accepted the suggestion",
        "foreign": "a person called it foreign",
        "named": "a person gave the label",
        "unsure": "a person was not sure",
        "open": "mislabelled (confidence at least 0.5)",
        "broken": "unreadable",
    }
    assert [image.id for image in plan.images if image.confirmed] == ["kept", "given", "accepted", "named"]
    assert actions(plan)["given"] == "dog" and actions(plan)["unsure"] == "cat" and actions(plan)["foreign"] == "-"
    newer = plan_corrections(table, {"given": ReviewDecision(Choice.FOREIGN)})
    assert actions(newer)["given"] == "-", "a decision given now comes before that of the table"


def test_words_of_the_table_that_are_no_decision() -> None:
    row = LOOKED_AGAIN[1]
    (image,) = plan_corrections(table_of(row | {"decided": "Not sure"})).images
    assert image.why == "a person was not sure"
    (image,) = plan_corrections(table_of(row | {"suggested_label": "", "confidence": 1.0})).images
    assert image.why == "called mislabelled, but not surely enough", "no label stands there to be given"
    with pytest.raises(DataError, match="'maybe' is not a decision"):
        plan_corrections(table_of(row | {"decided": "maybe"}))


def test_no_label_cannot_be_confirmed() -> None:
    rows = ({"id": "bare", "label": "", "verdict": "unlabelled", "suggested_label": "cat"},)
    (image,) = plan_corrections(table_of(*rows), {"bare": ReviewDecision(Choice.KEEP)}).images
    assert (image.label, image.action, image.reason, image.confirmed) == ("", Action.KEEP, Reason.UNLABELLED, False)
