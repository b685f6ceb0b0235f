"""An audited folder with pictures, for the tests of the formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from audit.page.page_samples import HOSTILE, make_table, make_thumbnail

from lond.audit.table import AuditTable

ODD_NAMES = tuple(name.replace("\n", " ").replace("/", "_") for name in HOSTILE if "long" not in name)


def audited_folder(root: Path, rows: int = 60) -> AuditTable:
    """Write small pictures, some with odd names, and return a table about them."""
    table = make_table(rows, names=tuple(f"cat/{name}" for name in ODD_NAMES if "\udc80" not in name))
    table = replace(table, path=table.id)
    for row, path in enumerate(table.path):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        make_thumbnail(row, 16).save(root / path)
    return table


def labels_of(table: AuditTable) -> dict[str, str]:
    """Return id -> given label of images that have one and can be read."""
    rows = zip(table.id, table.label, table.verdict, strict=True)
    return {name: label for name, label, verdict in rows if label and verdict != "unreadable"}
