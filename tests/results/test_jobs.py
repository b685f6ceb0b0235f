"""Runs side by side: what happens to the others when one fails or dies, and when all are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from methods.tiny import write_npz
from results import broken_worker

import lond.results.jobs
from lond.config import NetSettings, RunConfig
from lond.presets.benchmarks import preset
from lond.results.jobs import Job, plan, train_all
from lond.train.runtime import RuntimeSettings
from lond.train.state import CHECKPOINT


def test_a_worker_that_fails_or_dies_takes_nothing_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.results.jobs, "_train_and_tell", broken_worker.train_and_tell)
    jobs = [Job(name, RunConfig(), tmp_path / f"{name}-seed0") for name in ("broken", "dead", "good", "better")]
    problems = {job.name: problem for job, problem in train_all(jobs, 2, RuntimeSettings("cpu"))}
    assert problems.keys() == {"broken", "dead", "good", "better"}
    assert problems["broken"] == "RuntimeError: size mismatch"
    assert problems["dead"] is not None and "exit code 3" in problems["dead"]
    assert problems["good"] is problems["better"] is None
    # Each had a process of its own.
    processes = {(tmp_path / f"{name}-seed0" / "trained").read_text() for name in ("good", "better")}
    assert len(processes) == 2
    assert str(os.getpid()) not in processes


OWN_METHOD = """
from lond.methods import Standard

class Passed(Standard):
    name = "passed"
"""


def test_a_worker_knows_the_method_that_was_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "passed_method.py").write_text(OWN_METHOD)
    monkeypatch.syspath_prepend(tmp_path)
    config = preset("digits", method=import_module("passed_method").Passed)
    config = replace(config, net=NetSettings(width=0.125), train=replace(config.train, epochs=1, max_steps=1))
    jobs = plan({"passed": config}, [0], tmp_path / "runs")
    assert list(train_all(jobs, 2, RuntimeSettings("cpu", threads=1))) == [(jobs[0], None)]
    assert jobs[0].finished


def test_nothing_to_train_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.results.jobs, "_train_and_tell", lambda *_: pytest.fail("started"))
    assert list(train_all([], 2, RuntimeSettings("cpu"))) == []


PARENT = """
import sys
from pathlib import Path
import lond.results.jobs as jobs
from lond.config import RunConfig
from lond.train.runtime import RuntimeSettings
from results import broken_worker
if __name__ == "__main__":
    jobs._train_and_tell = broken_worker.train_and_tell
    work = [jobs.Job("slow", RunConfig(), Path(sys.argv[1]) / f"slow{number}") for number in range(2)]
    list(jobs.train_all(work, 2, RuntimeSettings("cpu")))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX")
def test_a_parent_that_is_killed_leaves_no_workers(how: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    folders = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": folders, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    started = [tmp_path / f"slow{number}" / "trained" for number in range(2)]
    try:
        wait_until(lambda: all(path.is_file() for path in started), 180)
        process.send_signal(how)
        process.wait(30)
        wait_until(lambda: not is_alive(process.pid), 30)
    finally:
        if is_alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def wait_until(done: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("to_all", [True, False], ids=["all processes", "the first process"])
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX")
def test_an_interrupt_stops_all_runs_and_the_same_command_goes_on(tmp_path: Path, to_all: bool) -> None:
    """A terminal interrupts all processes of a command, other programs the first one alone."""
    write_npz(tmp_path / "train.npz", 48)
    write_npz(tmp_path / "test.npz", 24)
    folder = tmp_path / "c"
    command = [
        sys.executable, "-m", "lond.cli", "compare", str(tmp_path / "train.npz"), "--test", str(tmp_path / "test.npz"),
        "--methods", "standard", "--seeds", "0,1,2", "--jobs", "2", "--threads", "1", "--accelerator", "cpu",
        "--epochs", "60", "--out", str(folder), "--set", "net.width=0.125", "--set", "train.batch_size=16",
        "--set", "train.evaluate_every=99",
    ]  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever starts the tests in the background leaves them, and their children, deaf to interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 180
        while not list(folder.glob(f"*/{CHECKPOINT}")) and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert "stopped; run the same command to resume" in out
        deadline = time.monotonic() + 10
        while is_alive(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_alive(process.pid), "a run is still being trained"
    finally:
        if is_alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    assert len(list(folder.glob("*/metrics.json"))) < 3
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert again.returncode == 0, again.stderr
    assert len(list(folder.glob("*/metrics.json"))) == 3
    assert (folder / "comparison.md").is_file()
