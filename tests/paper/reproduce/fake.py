"""Training and detection that leave the files of a run and learn nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results.run_samples import write_run

import lond.paper.reproduce.planning
import lond.results.jobs
from lond.config import RunConfig
from lond.detect import DETECTORS

MACHINE = {"threads": 1, "device": "cpu", "precision": "32-true", "processes": 1}


class Fake:
    """Counts what is trained; folders whose name holds ``broken`` fail, an interrupt comes at ``stop_at``.

    All detectors have the ``problem``, and accuracies are ``moved`` as on another machine.
    """

    def __init__(self) -> None:
        self.trained: list[str] = []
        self.detected: list[str] = []
        self.broken, self.stop_at, self.problem, self.moved = "", 0, "", 0.0

    def train(self, config: RunConfig, folder: Path, *_: Any, **__: Any) -> None:
        self.trained.append(folder.name)
        if self.stop_at and len(self.trained) == self.stop_at:
            raise KeyboardInterrupt
        if self.broken and self.broken in folder.name:
            raise RuntimeError("size\n mismatch")
        write_run(folder, config, accuracy=0.5 + 0.1 * config.train.seed + self.moved, machine=MACHINE)

    def detect(self, folder: Path, *arguments: Any) -> None:
        self.detected.append(folder.name)
        if self.broken == "detect":
            raise RuntimeError("no memory")
        target = arguments[4]
        target.mkdir(parents=True, exist_ok=True)
        entries = [
            {"name": name, "fitted_on": fit, "auroc": 0.7, "fpr95": 0.9, "seconds": 0.1, "problem": self.problem}
            for name in DETECTORS
            for fit in ("all", "clean")
        ]
        content = {"test": [{"origin": "mini80/test"}], "detectors": entries}
        (target / "detectors.json").write_text(json.dumps(content))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    one = Fake()
    monkeypatch.setattr(lond.results.jobs, "train_run", one.train)
    monkeypatch.setattr(lond.paper.reproduce.planning, "detect_run", one.detect)
    return one
