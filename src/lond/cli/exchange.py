"""The commands that carry an audit to other tools and back: parsing and printing only."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lond.cli.audit_notes import existing_audit
from lond.cli.shared import say
from lond.errors import ConfigError, counted


def audit_export(
    table: Annotated[Path, typer.Argument(help="Folder of an audit, or its audit.csv or audit.parquet.")],
    tool: Annotated[str, typer.Option("--to", help="datalab, fiftyone, huggingface or label-studio.")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for the export.")],
    root: Annotated[
        Path | None,
        typer.Option(help="Folder that the paths of the table are relative to; default: the audited one."),
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option(help="CSV of decisions from the page, to export in place of the verdicts.")
    ] = None,
    new_labels: Annotated[
        bool, typer.Option("--new-labels", help="Accept decided labels that are not a class of the set.")
    ] = False,
) -> None:
    """Write an audit in the format of another tool."""
    from lond.audit.correct.decided_table import with_decisions
    from lond.audit.correct.decisions import read_decisions
    from lond.audit.formats.exchange import export_audit, format_of
    from lond.audit.saved import audited_folder, table_of
    from lond.audit.table import read_audit

    audit, table = table, table_of(existing_audit(table))
    judged, root = read_audit(table), root or audited_folder(table)
    if decisions is not None:
        judged = with_decisions(judged, read_decisions(decisions), allow_new_labels=new_labels)
    for path in export_audit(judged, tool, folder, root):
        say(f"written: {path}")
    for note in format_of(tool).notes(judged, root):
        say(f"note: {note}")
    say(f"back, with what was changed there: lond audit-import EXPORT --from {tool} --table {shlex.quote(str(audit))}")


def audit_import(
    labels: Annotated[Path, typer.Argument(help="Export of the other tool: a file or a folder.")],
    tool: Annotated[str, typer.Option("--from", help="datalab, fiftyone, huggingface or label-studio.")],
    table: Annotated[Path, typer.Option(help="Folder of the audit, or its audit.csv or audit.parquet.")],
    save: Annotated[
        Path | None, typer.Option("--out", help="CSV of decisions to write; default: decisions-from-TOOL.csv.")
    ] = None,
    all_checked: Annotated[
        bool, typer.Option("--all-checked", help="A person checked every image: unchanged labels are right.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Turn labels from another tool into decisions for `lond apply` and for the page."""
    from lond.audit.formats.exchange import decisions_from, format_of, write_decisions
    from lond.audit.saved import table_of
    from lond.audit.table import read_audit

    form = format_of(tool)
    save = _new_file(save or Path(f"decisions-from-{tool}.csv"), overwrite=overwrite)
    judged = read_audit(table_of(existing_audit(table)))
    decisions = decisions_from(form.read(labels), judged, keep_unchanged=form.chosen or all_checked)
    write_decisions(save, decisions, judged)
    say(f"written: {save} ({counted(len(decisions), 'decision')})")
    if not decisions:
        why = "nobody has chosen a label there" if form.chosen else "no label differs from the given one"
        all_right = "" if form.chosen else "; --all-checked takes unchanged labels as checked and right"
        say(f"note: {why}, so there is nothing to apply{all_right}")


def _new_file(path: Path, *, overwrite: bool) -> Path:
    """Return a file that may be written.

    Raises:
        ConfigError: it exists, and may hold decisions from the page.
    """
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists; name another file with --out, or replace this one with --overwrite")
    return path
