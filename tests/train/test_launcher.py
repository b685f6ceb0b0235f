"""What happens when a process that was started ends badly, or does not end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lond.train.launcher import WatchedLauncher, WatchedStrategy, end_children, watch


def child(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", code])


def test_children_that_end_well_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    watch([child("pass"), child("pass")], 0, codes.append)
    assert codes == []
    assert capsys.readouterr().err == ""


def test_a_child_that_fails_ends_all_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    children = [child("import time; time.sleep(60)"), child("raise SystemExit(3)")]
    watch(children, 0, codes.append)
    assert codes == [2]
    assert [one.poll() for one in children] == [-9, 3]
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "exit code 3" in told
    assert "Start the same command again" in told


def test_who_ends_in_time_is_not_killed() -> None:
    children = [child("pass"), child("import time; time.sleep(60)")]
    children[0].wait()
    end_children(children, 0.05)
    assert [one.returncode for one in children] == [0, -9]


def test_the_strategy_takes_our_launcher() -> None:
    from lightning_fabric.plugins.environments import LightningEnvironment

    strategy = WatchedStrategy(5)
    strategy.cluster_environment = LightningEnvironment()
    strategy.parallel_devices = []
    strategy._configure_launcher()
    assert isinstance(strategy.launcher, WatchedLauncher)
