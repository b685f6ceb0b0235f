"""The commands that carry an audit to other tools and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from audit.formats.format_samples import audited_folder
from audit.page.page_samples import make_table
from typer.testing import CliRunner

from lond.audit.correct.decisions import Choice, read_decisions
from lond.audit.table import write_csv
from lond.cli.commands import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_tasks_go_out_and_annotations_come_back(tmp_path: Path) -> None:
    table = make_table(30)
    write_csv(tmp_path / "audit.csv", table)
    out = tmp_path / "studio"
    assert "tasks.json" in run("audit-export", str(tmp_path / "audit.csv"), "--to", "label-studio", "--out", str(out))
    tasks = json.loads((out / "tasks.json").read_text(encoding="utf-8"))
    tasks[3]["annotations"] = [{"result": [{"type": "choices", "value": {"choices": ["a new class"]}}]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    said = run(
        *("audit-import", str(tmp_path / "export.json"), "--from", "label-studio"),
        *("--table", str(tmp_path / "audit.csv"), "--out", str(tmp_path / "decisions.csv")),
    )
    assert "(1 decision)" in said
    decided = read_decisions(tmp_path / "decisions.csv")
    assert decided[table.id[3]].choice == Choice.RELABEL and decided[table.id[3]].new_label == "a new class"


def test_the_decisions_of_the_page_are_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = make_table(30)
    write_csv(tmp_path / "audit.csv", table)
    from_page = f"id,decision,new_label,not_a_copy\n{table.id[2]},not sure,,yes\n"
    Path("decisions.csv").write_text(from_page, encoding="utf-8")
    run("audit-export", "audit.csv", "--to", "datalab", "--out", "lab")
    back = ("audit-import", "lab", "--from", "datalab", "--table", "audit.csv", "--all-checked")
    assert "written: decisions-from-datalab.csv" in run(*back)
    assert Path("decisions.csv").read_text(encoding="utf-8") == from_page
    again = CliRunner().invoke(app, list(back))
    assert again.exit_code and "decisions-from-datalab.csv exists" in str(again.exception)
    assert "written: " in run(*back, "--overwrite")


def test_decisions_go_out_as_annotations(tmp_path: Path) -> None:
    table = make_table(30)
    write_csv(tmp_path / "audit.csv", table)
    file, out = tmp_path / "decisions.csv", tmp_path / "studio"
    file.write_text(f"id,decision,new_label\n{table.id[3]},relabel,a new class\n", encoding="utf-8")
    command = ("audit-export", str(tmp_path / "audit.csv"), "--to", "label-studio", "--out", str(out))
    refused = CliRunner().invoke(app, [*command, "--decisions", str(file)])
    assert refused.exit_code and not out.exists(), "a label that may be a mistake of typing"
    run(*command, "--decisions", str(file), "--new-labels")
    tasks = {task["data"]["id"]: task for task in json.loads((out / "tasks.json").read_text(encoding="utf-8"))}
    (annotation,) = tasks[table.id[3]]["annotations"]
    assert annotation["result"][0]["value"]["choices"] == ["a new class"]
    assert "a new class" in (out / "label_config.xml").read_text(encoding="utf-8")


def test_the_folder_of_an_audit_is_enough(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "photos", 24)
    (tmp_path / "audit").mkdir()
    write_csv(tmp_path / "audit" / "audit.csv", table)
    (tmp_path / "audit" / "summary.json").write_text(json.dumps({"source": str(tmp_path / "photos")}))
    out = tmp_path / "fiftyone"
    run("audit-export", str(tmp_path / "audit"), "--to", "fiftyone", "--out", str(out))
    pictures = json.loads((out / "data.json").read_text(encoding="utf-8")).values()
    assert all(Path(path).is_relative_to(tmp_path / "photos") for path in pictures)
    decisions = tmp_path / "decisions.csv"
    back = ("audit-import", str(out), "--from", "fiftyone", "--table", str(tmp_path / "audit"), "--out", str(decisions))
    run(*back, "--all-checked")
    assert {found.choice for found in read_decisions(decisions).values()} == {Choice.KEEP}
    labels = json.loads((out / "labels.json").read_text(encoding="utf-8"))
    row = table.verdict.index("clean")
    labels["labels"][table.id[row]]["label"] = "another"
    (out / "labels.json").write_text(json.dumps(labels))
    assert "exists; name another file with --out" in str(CliRunner().invoke(app, list(back)).exception)
    assert {found.choice for found in read_decisions(decisions).values()} == {Choice.KEEP}, "what it held is lost"
    assert "(1 decision)" in run(*back, "--overwrite"), "labels that nobody changed are no decisions"
    assert read_decisions(decisions)[table.id[row]].new_label == "another"


def test_what_an_export_lacks_and_needs_is_said(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "photos", 24)
    verdicts = ("unreadable", *("clean" if verdict == "unreadable" else verdict for verdict in table.verdict[1:]))
    (tmp_path / "audit").mkdir()
    write_csv(tmp_path / "audit" / "audit.csv", replace(table, verdict=verdicts))
    (tmp_path / "audit" / "summary.json").write_text(json.dumps({"source": str(tmp_path / "photos")}))
    said = {
        tool: run("audit-export", str(tmp_path / "audit"), "--to", tool, "--out", str(tmp_path / tool))
        for tool in ("label-studio", "huggingface", "datalab")
    }
    for tool in ("label-studio", "huggingface"):
        assert "note: 1 unreadable image is left out; the export holds 23" in said[tool]
    assert "note" not in said["datalab"]
    assert f"LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={tmp_path / 'photos'}" in said["label-studio"]
    back = ("--table", str(tmp_path / "audit"), "--out", str(tmp_path / "decisions.csv"))
    told = run("audit-import", str(tmp_path / "label-studio"), "--from", "label-studio", *back)
    assert "(0 decisions)" in told and "nobody has chosen a label there, so there is nothing to apply" in told
    told = run("audit-import", str(tmp_path / "datalab"), "--from", "datalab", *back, "--overwrite")
    assert "no label differs from the given one" in told and "--all-checked" in told
    for tool, text in said.items():
        assert f"lond audit-import EXPORT --from {tool} --table {tmp_path / 'audit'}" in text.replace("\n", " ")
