"""The model of an audit: which run is meant where the folder of an audit is given in place of a run folder."""

from __future__ import annotations

from pathlib import Path

from lond.errors import DataError
from lond.io.json_files import read_json
from lond.runs.folder import CONFIG

SUMMARY = "summary.json"
"""Name of the summary in the folder of an audit, as ``lond.audit.saved`` has it."""

HEADS, MODEL = "heads", "model"
"""Folder of the runs of an audit, and within it that of the model for new images, as ``lond.audit`` has them."""


def run_folder(folder: Path) -> Path:
    """Return the run folder that a folder means: that of its newest model for an audit, itself for anything else.

    After a second audit with decisions, the newest model is the one trained with them.

    Raises:
        DataError: it is an audit without a model.

    Examples:
        >>> run_folder(Path("runs/photos")).as_posix()
        'runs/photos'
    """
    if (folder / CONFIG).exists() or not ((folder / SUMMARY).is_file() or (folder / HEADS).is_dir()):
        return folder
    model = folder / HEADS / _newest(folder)
    if (model / CONFIG).is_file():
        return model
    raise DataError(
        f"{folder} is the folder of an audit, and holds no model {model}: finish it with its lond audit command; "
        f'in Python, audit(..., folder=Path("{folder / HEADS}")) trains one'
    )


def _newest(folder: Path) -> str:
    """Return the model of an audit, below the folder of its runs."""
    summary = read_json(folder / SUMMARY) if (folder / SUMMARY).is_file() else {}
    look = summary.get("second_look")
    return str(look.get("model") or MODEL) if isinstance(look, dict) else MODEL
