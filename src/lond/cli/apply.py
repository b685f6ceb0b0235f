"""The command that corrects a set by its audit: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lond.cli.audit_notes import existing_audit, told_foreign, train_command
from lond.cli.shared import note, out, say, starting
from lond.errors import ConfigError

if TYPE_CHECKING:
    from lond.audit.correct.plan import CorrectionPlan


def apply(
    table: Annotated[
        Path, typer.Argument(metavar="AUDIT", help="Folder of an audit, or its audit.csv or audit.parquet.")
    ],
    decisions: Annotated[Path | None, typer.Option(help="CSV of decisions, downloaded from the page.")] = None,
    save: Annotated[Path | None, typer.Option("--out", help="CSV file, or folder of links, to write.")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder that the paths of the table are relative to.")] = None,
    link: Annotated[
        str, typer.Option(help="For a folder: symlink (absolute), hardlink or copy (to move or zip it).")
    ] = "symlink",
    confidence: Annotated[float, typer.Option(help="Minimum confidence for changing a label.")] = 0.5,
    foreign: Annotated[
        float | None,
        typer.Option(help="Minimum probability of being foreign for leaving an image out.  [default: verdict foreign]"),
    ] = None,
    keep_foreign: Annotated[bool, typer.Option("--keep-foreign", help="Keep foreign images.")] = False,
    drop_undecided: Annotated[
        bool, typer.Option("--drop-undecided", help="Leave out doubtful images without a confident suggestion.")
    ] = False,
    drop_copies: Annotated[
        bool, typer.Option("--drop-copies", help="Keep only one of several copies, exact or near.")
    ] = False,
    new_labels: Annotated[
        bool, typer.Option("--new-labels", help="Accept decided labels that are not a class of the set.")
    ] = False,
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Accept images outside the audited folder.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write the corrected set; without it, only show the plan.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --write: replace a corrected set that lond apply wrote before.")
    ] = False,
) -> None:
    """Show, and with --write create, the corrected set of an audit; originals are never changed."""
    starting("apply")
    from lond.audit.correct.apply import plan_corrections
    from lond.audit.correct.decisions import read_decisions, read_not_copies
    from lond.audit.correct.place import check_place_of
    from lond.audit.saved import audited_folder, table_of
    from lond.audit.table import read_audit

    if write and save is None:
        raise ConfigError("--write needs --out: a .csv file, or a new folder for links")
    if decisions is not None and not decisions.exists():
        raise ConfigError(f"there is no file of decisions {decisions}")
    table = table_of(existing_audit(table))
    root = root or audited_folder(table)
    if write and save is not None and save.suffix != ".csv" and root is None:
        raise ConfigError("a folder of links needs --root, the folder that was audited")
    if write and save is not None:
        check_place_of(save, overwrite=overwrite)
    judged = read_audit(table)
    plan = plan_corrections(
        judged,
        read_decisions(decisions) if decisions else None,
        min_confidence=confidence,
        drop_foreign=not keep_foreign,
        min_foreign=foreign,
        keep_undecided=not drop_undecided,
        drop_copies=drop_copies,
        allow_new_labels=new_labels,
        not_copies=read_not_copies(decisions) if decisions else (),
    )
    out.print(plan.describe(), markup=False, highlight=False, soft_wrap=True)
    if not write or save is None:
        out.print(f"nothing was written; add {'--write' if save else '--out and --write'} to do so")
        return
    _write_corrected(plan, save, root, link, allow_outside, overwrite)
    say(f"next: {train_command(save, table.parent)}")
    if plan.foreign_left_out:
        note(told_foreign(plan.foreign_left_out, table.parent))


def _write_corrected(
    plan: CorrectionPlan, save: Path, root: Path | None, link: str, allow_outside: bool, overwrite: bool
) -> None:
    """Write the corrected set as a CSV file or as a folder of links, and say so."""
    from lond.audit.correct.apply import write_corrected_csv, write_link_tree
    from lond.audit.correct.place import CLASSES

    if save.suffix == ".csv":
        write_corrected_csv(save, plan, root, overwrite=overwrite, allow_outside=allow_outside)
        if root is None and not all((save.parent / image.path).is_file() for image in plan.kept):
            note("the paths in it do not lead to files from where it lies; --root says what they start from")
    elif root is not None:
        links: Any = link  # the user's word, checked there
        tree = write_link_tree(save, plan, root, link=links, allow_outside=allow_outside, overwrite=overwrite)
        if any(name != folder for name, folder in tree.folders.items()):
            note(f"names of classes that could harm as folders were changed; {CLASSES} in it lists them")
        if link == "symlink":
            note("it holds links to the originals; with --link copy it can be moved, zipped or sent")
    out.print(f"written: {save}", markup=False, soft_wrap=True)
