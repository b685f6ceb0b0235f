"""A dry run of ``lond train`` prints all and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lond import cli


def rows(text: str) -> dict[str, list[str]]:
    """Return value, default and origin of each setting."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    return {key: rest for key, *rest in cells}


@pytest.mark.parametrize("frozen", [False, True])
def test_everything_is_printed_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("own.npz", x=np.zeros((60, 16, 16, 3), dtype=np.uint8), y=np.arange(60) % 3)
    options = [
        "--method",
        "sed",
        "--epochs",
        "6",
        "--seed",
        "3",
        "--set",
        "net.width=0.125",
        "--threads",
        "1",
        "--accelerator",
        "cpu",
        "--dry-run",
    ]
    done = CliRunner().invoke(cli.app, ["train", "own.npz", *options, *(["--frozen"] if frozen else [])])
    assert done.exit_code == 0, done.output
    known, scale = rows(done.stdout), "frozen features" if frozen else "--epochs"
    assert known["data.source"] == ["own.npz", "", "own data"]
    assert known["train.epochs"] == ["6", "300", scale]
    assert known["train.seed"] == ["3", "0", "command line"]
    assert known["train.evaluation_batch"] == ["500", "", ""]
    assert "6 epochs: about" in done.stdout and ("features of the frozen network" in done.stdout) == frozen
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


def test_a_benchmark_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["train", "--preset", "mini80-sym50", "--accelerator", "cpu", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert rows(done.stdout)["net.width"] == ["0.5", "1.0", "preset mini80-sym50"]
    assert not list(tmp_path.iterdir())
