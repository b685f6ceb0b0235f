"""What the commands about audits print besides counts and rates: the model, copies and foreign images."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lond.cli.runs import print_threshold
from lond.cli.shared import say
from lond.errors import ConfigError, DataError, counted

if TYPE_CHECKING:
    from lond.audit.table import AuditTable


def print_copies(table: AuditTable) -> None:
    """Say how many groups of copies and remarks on picture quality the page shows."""
    groups = len({*table.copy_group} - {""})
    kinds = Counter(kind for kinds in table.quality for kind in kinds)
    told = [counted(groups, "group") + " of copies"] * bool(groups)
    if kinds:
        told.append(f"unusual pictures ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})")
    if told:
        say(f"also found: {' and '.join(told)}; see the page")


def existing_audit(place: Path) -> Path:
    """Return the folder or table of an audit as it is.

    Raises:
        ConfigError: it is not there.
    """
    if not place.exists():
        raise ConfigError(f"there is no audit {place} (the folder that lond audit wrote, or its table)")
    return place


def print_model(folder: Path) -> None:
    """Print which model the audit has for new images, how it is used, and what its threshold rests on."""
    from lond.io.json_files import read_json
    from lond.runs import METRICS
    from lond.runs.audit_model import run_folder

    model = run_folder(folder)
    say(f"model: {model} (for new images: lond predict {shlex.quote(str(folder))} IMAGES)")
    print_threshold(read_json(model / METRICS), folder)


def train_command(corrected: Path, audit: Path) -> str:
    """Return how to train on a corrected set, and what to add to reuse the features of its audit, if they are there."""
    from lond.audit.saved import SUMMARY
    from lond.frozen.extractor import ExtractorSettings
    from lond.io.json_files import read_json

    run = Path("runs") / (corrected.stem if corrected.suffix == ".csv" else corrected.name)
    command = f"lond train {shlex.quote(str(corrected))} --frozen --out {shlex.quote(str(run))}"
    features, usual = audit / "features", asdict(ExtractorSettings())
    try:
        used = read_json(audit / SUMMARY)["settings"]["extractor"]
        # Features are found again only if they are of the same network and views.
        wanted = {name: used[name] for name in ("backbone", "size", "mirrored", "precision", "checkpoint_path")}
        wanted |= {"whole": used.get("whole", False), "squares_beyond": used.get("squares_beyond", 0.0)}
    except (DataError, LookupError, TypeError):
        return command
    if not features.is_dir():
        return command
    other = {name: value for name, value in wanted.items() if value != usual[name]}
    texts = [
        f"data.frozen.{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in {"cache": str(features), **other}.items()
    ]
    settings = " ".join(f"--set {shlex.quote(text)}" for text in texts)
    return f"{command}\n  to reuse the features of the audit in place of new ones, add {settings}"


def told_foreign(count: int, folder: Path) -> str:
    """Return what a set without foreign images lacks, and which model knows them."""
    from lond.runs.audit_model import run_folder

    try:
        place = run_folder(folder)
        model = f"the model of the audit ({place}) has learned from them" if place != folder else ""
    except DataError:
        model = ""
    more = f"; {model}" if model else ""
    are = "is" if count == 1 else "are"
    out = f"{counted(count, 'foreign image')} {are} left out"
    return f"{out}, so a model trained on this set recognises fewer foreign images{more}"
