"""What ``test_jobs`` lets worker processes do in place of training; they import it by name."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lond.config import RunConfig
from lond.results import jobs
from lond.results.jobs import Job
from lond.train.runtime import RuntimeSettings

_train_and_tell = jobs._train_and_tell


def train_and_tell(job: Job, runtime: RuntimeSettings, sender: Connection, *registered: Any) -> None:
    """Do as ``lond.results.jobs._train_and_tell`` does, but pretend to train."""
    jobs.train_run = _pretend  # type: ignore[assignment]
    _train_and_tell(job, runtime, sender, *registered)


def _pretend(config: RunConfig, folder: Path, *_: Any, **__: Any) -> None:
    if folder.name.startswith("broken"):
        raise RuntimeError("size\n mismatch")
    if folder.name.startswith("dead"):
        os._exit(3)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trained").write_text(str(os.getpid()))
    if folder.name.startswith("slow"):
        time.sleep(600)
