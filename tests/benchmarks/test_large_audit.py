"""The measurement of large audits: what it reads from an audit, and that a killed one is started again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.large_audit import recall_of, run


def test_recall_stands_in_the_notes() -> None:
    note = "neighbours were searched by cells, which finds about 97.3 % of them"
    assert recall_of(["something else", note]) == pytest.approx(0.973)
    assert recall_of(["something else"]) == 1.0


def test_a_killed_command_runs_again(tmp_path: Path) -> None:
    stage, times, script = tmp_path / "stage", tmp_path / "times", tmp_path / "work.py"
    script.write_text(
        "import pathlib, time\n"
        f"times, stage = pathlib.Path({str(times)!r}), pathlib.Path({str(stage)!r})\n"
        "with times.open('a') as file:\n    file.write('x')\n"
        "stage.touch()\n"
        "time.sleep(60 if times.read_text() == 'x' else 0)\n"
    )
    assert run([sys.executable, str(script)], 1, str(stage)) == 1
    assert times.read_text() == "xx"
    with pytest.raises(subprocess.CalledProcessError):
        run([sys.executable, "-c", "raise SystemExit(3)"], 1, "")
