"""`--threads` and `--accelerator`: on every command that computes, and passed on to what computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cli.test_trained import images, run  # noqa: F401

from lond.cli.commands import COMMANDS
from lond.train.runtime import RuntimeSettings

Call = Callable[..., tuple[int, str, str]]
NOT_COMPUTING = {"apply", "audit_export", "audit_import", "results"}
ON_THE_CPU = {"export"}
"""Commands that choose threads only: their result must not depend on a device."""


def test_every_command_that_computes_has_both_options() -> None:
    for command in COMMANDS:
        options = command.__annotations__.keys()
        if command.__name__ in NOT_COMPUTING:
            continue
        assert "threads" in options, command.__name__
        assert ("accelerator" in options) != (command.__name__ in ON_THE_CPU), command.__name__


@pytest.fixture
def threads() -> Any:
    """Watch the number of threads, and put it back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch.get_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("command", ["evaluate", "predict", "calibrate", "export"])
def test_commands_on_a_run_compute_as_told(
    command: str,
    run: Path,  # noqa: F811
    images: Path,  # noqa: F811
    tmp_path: Path,
    lond: Call,
    threads: Callable[[], int],
) -> None:
    asked = {
        "evaluate": ["--data", images],
        "predict": [images, "--out", tmp_path / "p.csv", "--threshold", 0],
        "calibrate": ["--known", images, "--rate", 0.25],
        "export": [tmp_path / "weights.safetensors", "--threshold", 0],
    }[command]
    code, _, err = lond(command, run, *asked, "--threads", 2)
    told = [line for line in err.splitlines() if not line.startswith("export: step ")]
    assert (code, told) == (0, []) and threads() == 2
    if command == "export":
        return
    assert lond(command, run, *asked, "--accelerator", "cpu")[0] == 0
    if not torch.cuda.is_available():
        code, _, err = lond(command, run, *asked, "--accelerator", "cuda")
        assert code == 2 and "cannot run on 'cuda'" in err
    code, _, err = lond(command, run, *asked, "--accelerator", "magic")
    assert code == 2 and "accelerator 'magic' is unknown" in err


def test_detect_and_demo_pass_the_options_on(tmp_path: Path, lond: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr("lond.runs.detection.detect_run", lambda *given: told.update(detect=given[-1]) or [])
    assert lond("detect", tmp_path, "--threads", 2, "--accelerator", "cpu")[0] == 0
    assert told["detect"] == RuntimeSettings("cpu", threads=2)

    def demo(folder: Path, seeds: list[int], threads: int, say: Any, *, accelerator: str) -> None:
        told["demo"] = (threads, accelerator)
        raise KeyboardInterrupt

    monkeypatch.setattr("lond.demo.run_demo", demo)
    lond("demo", "--out", tmp_path, "--threads", 2, "--accelerator", "cpu")
    assert told["demo"] == (2, "cpu")


def test_a_detector_is_picked_marked_and_used(
    run: Path,  # noqa: F811
    images: Path,  # noqa: F811
    tmp_path: Path,
    lond: Call,
) -> None:
    code, out, err = lond("calibrate", run, "--known", images, "--rate", 0.25, "--detector", "mls")
    assert (code, err) == (0, "") and "foreign score: mls" in out
    assert "foreign score: mls" in lond("evaluate", run, "--data", images)[1]
    code, out, err = lond("calibrate", run, "--known", images, "--rate", 0.25)
    assert code == 0 and "foreign score: mls" in out
    code, out, err = lond("calibrate", run, "--known", images, "--rate", 0.25, "--detector", "own")
    assert code == 0 and "foreign score: the method's own score" in out
    for name, told in (("magic", "magic"), ("knn", "does not say where its training images are")):
        code, _, err = lond("calibrate", run, "--known", images, "--detector", name)
        assert code == 2 and told in err
