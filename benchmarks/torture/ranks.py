"""Kill one process of a training in two: the other must end with one line, and the same command must go on."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.torture.kills import PATIENCE, finish, start
from benchmarks.torture.world import Command, run_answer

LEFT_BEHIND = 120.0
"""Seconds in which the process that is left must end."""


@dataclass(frozen=True)
class LostRank:
    """One training in two processes, of which one was killed, and what its second start gave."""

    rank: int
    moment: float
    """Seconds from the first checkpoint to the kill."""
    seconds: float
    """In which the other process ended."""
    lines: int
    """That it said about it; the first process, once killed, can say nothing, and its system does."""
    equal: bool
    problem: str = ""


def in_two(world: Path) -> Command:
    """Return a training in two processes, long enough to be cut."""
    options = ("--epochs", "8", "--devices", "2", "--threads", "1", "--accelerator", "cpu")
    small = ("--set", "net.width=0.1", "--set", "train.batch_size=32")
    return Command("train in two", ("train", str(world / "images.npz"), *options, *small), run_answer)


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of a training: the first, and those that it started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()
    return [process.pid, *map(int, children)]


def lose(command: Command, uncut: Any, folder: Path, rank: int, seed: int) -> LostRank:
    """Kill one process between the first and the last epoch, wait for the other, start again and compare."""
    shutil.rmtree(folder, ignore_errors=True)
    process = start(command, folder)
    begun = time.monotonic()
    while not (folder / "log.jsonl").is_file() and time.monotonic() < begun + PATIENCE and process.poll() is None:
        time.sleep(0.05)
    moment = random.Random(seed).uniform(0, 2)
    time.sleep(moment)
    os.kill(ranks_of(process)[rank], signal.SIGKILL)
    killed = time.monotonic()
    try:
        words = process.communicate(timeout=LEFT_BEHIND)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return LostRank(rank, moment, LEFT_BEHIND, 0, False, "the other process went on")
    seconds = time.monotonic() - killed
    lines = len([line for line in words.splitlines() if line.startswith("error:")])
    problem = "a traceback" if "Traceback" in words else finish(command, folder)
    equal = not problem and command.answer(folder) == uncut
    return LostRank(rank, round(moment, 2), round(seconds, 2), lines, equal, problem)


def torture(world: Path, folder: Path, times: int = 6, say: Any = print) -> dict[str, Any]:
    """Lose the first and the second process in turn; return what happened."""
    command = in_two(world)
    problem = finish(command, folder / "uncut")
    assert not problem, problem
    uncut = command.answer(folder / "uncut")
    found = []
    for number in range(times):
        found.append(lose(command, uncut, folder / "cut", number % 2, number))
        say(f"rank {found[-1].rank} killed: {'equal' if found[-1].equal else 'NOT EQUAL ' + found[-1].problem}")
    seconds = [lost for lost in found if lost.rank]
    return {
        "ranks_killed": times,
        "second_killed": len(seconds),
        "told_in_one_line": sum(lost.lines == 1 for lost in seconds),
        "equal_ends": sum(lost.equal for lost in found),
        "slowest_end_seconds": max(lost.seconds for lost in found),
        "list": [asdict(lost) for lost in found],
    }
