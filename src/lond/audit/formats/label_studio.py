"""An audit as tasks for Label Studio, suggestions as predictions, decisions as annotations; and annotations back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from lond.audit.correct.decisions import Choice, choice_of
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.io.csv_files import printable
from lond.types import Verdict

TASKS, CONFIGURATION = "tasks.json", "label_config.xml"

FOREIGN_CHOICE = "(belongs to no class)"
"""What an annotator chooses for a foreign image."""

SET_UP = (
    "start Label Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and "
    "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={root}, add that folder as local storage of the project, paste "
    "label_config.xml as its labelling interface, and import tasks.json"
)
"""What to do with an export."""

LOCAL_FILES = "/data/local-files/?d="
"""How Label Studio addresses pictures below its folder of local files."""


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write ``tasks.json`` to import, and ``label_config.xml`` to set up the project with.

    The tasks name the pictures by their paths below Label Studio's folder of local files
    (``LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT``), which must be the audited folder. Suggestions are predictions; what a
    person decided before is an annotation. Unreadable images are left out.
    """
    tasks = [_task(row) for row in table.rows() if row["verdict"] != Verdict.UNREADABLE]
    names = sorted({*table.label, *table.suggested_label} - {""})
    write_atomically(folder / TASKS, json.dumps(tasks, ensure_ascii=False, indent=1))
    write_atomically(folder / CONFIGURATION, configuration([*names, FOREIGN_CHOICE]))
    return [folder / TASKS, folder / CONFIGURATION]


def configuration(names: list[str]) -> str:
    """Return the labelling interface: the picture, what the audit says, and the classes to choose from."""
    choices = "\n".join(f"    <Choice value={quoteattr(printable(name))}/>" for name in names)
    return (
        '<View>\n  <Image name="image" value="$image"/>\n  <Header value="$summary"/>\n'
        f'  <Choices name="label" toName="image" choice="single">\n{choices}\n  </Choices>\n</View>\n'
    )


def read(path: Path) -> dict[str, str | None]:
    """Return id -> label from what Label Studio exports as JSON; None for foreign images.

    Images without an annotation are left out. Of several annotations of a task the last one counts, and cancelled ones
    do not.

    Raises:
        DataError: the file is no export of tasks made by ``write``.
    """
    file = path / TASKS if path.is_dir() else path
    try:
        tasks = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(tasks, list) and any("data" not in task and "annotation_id" in task for task in tasks):
            raise DataError(f"{file} is Label Studio's short form, JSON-MIN, which loses ids; export as JSON instead")
        pairs = [(str(task["data"]["id"]), _choice(task)) for task in tasks]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{file} is no JSON export of Label Studio whose tasks have data.id: {error!r}") from error
    return {name: None if choice == FOREIGN_CHOICE else choice for name, choice in pairs if choice is not None}


def _task(row: dict[str, Any]) -> dict[str, Any]:
    wanted = FOREIGN_CHOICE if row["verdict"] == Verdict.FOREIGN else printable(row["suggested_label"] or row["label"])
    # Older audits tell no confidence of foreign images, but a p-value.
    score = 1 - row["p_value"] if math.isnan(row["confidence"]) else row["confidence"]
    summary = f"given {row['label'] or 'no label'}; {row['verdict']}" + (
        f"; suggested {row['suggested_label']}" if row["suggested_label"] else ""
    )
    data = {
        "image": LOCAL_FILES + quote(printable(row["path"])),
        "id": printable(row["id"]),
        "label": printable(row["label"]),
        "verdict": row["verdict"],
        "suggested_label": printable(row["suggested_label"]),
        "summary": printable(summary),
    }
    if not wanted:
        return {"data": data}
    result = {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [wanted]}}
    # "Not sure" tells no label.
    if choice_of(row["decided"]) not in (None, Choice.NOT_SURE):
        return {"data": data | {"decided": row["decided"]}, "annotations": [{"result": [result]}]}
    prediction = {"model_version": "lond", "result": [result]} | ({} if math.isnan(score) else {"score": score})
    return {"data": data, "predictions": [prediction]}


def _choice(task: dict[str, Any]) -> str | None:
    valid = [each for each in task.get("annotations", ()) if not each.get("was_cancelled")]
    results = valid[-1]["result"] if valid else ()
    choices = [part["value"]["choices"] for part in results if part.get("type") == "choices"]
    return str(choices[-1][-1]) if choices and choices[-1] else None
