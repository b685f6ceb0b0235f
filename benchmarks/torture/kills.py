"""Kill commands at random moments and start them again: the end must be the one of an uncut command."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.torture.world import Command

PATIENCE = 900.0
"""Seconds after which a command that was let alone is taken for one that hangs."""

LATEST = 0.7
"""Share of the time of an uncut command within which it is killed: one that goes on has less to do."""

GONE = 20.0
"""Seconds in which the workers of a killed command must be gone."""


@dataclass(frozen=True)
class Chain:
    """One command that was killed some times and then let finish."""

    command: str
    kills: int
    """Those that met a living process."""
    moments: tuple[float, ...]
    """Seconds after the start of each attempt."""
    equal: bool
    problem: str = ""


def run_chain(command: Command, uncut: Any, folder: Path, kills: int, seconds: float, seed: int) -> Chain:
    """Kill a command ``kills`` times at moments of its first ``seconds``, let it finish, and compare with ``uncut``."""
    drawn, moments = random.Random(seed), []
    shutil.rmtree(folder, ignore_errors=True)
    for _ in range(kills):
        moment = drawn.uniform(0, LATEST * seconds)
        process = start(command, folder)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            moments.append(round(moment, 2))
            problem = _kill(process, everything=drawn.random() < 0.5)
            if problem:
                return Chain(command.name, len(moments), tuple(moments), False, problem)
        if process.returncode == 0:
            # It was finished before: what is left to cut is the second look at a finished run.
            continue
    problem = finish(command, folder)
    equal = not problem and command.answer(folder) == uncut
    return Chain(command.name, len(moments), tuple(moments), equal, problem)


def finish(command: Command, folder: Path) -> str:
    """Run a command to its end; return its last words if it fails."""
    process = start(command, folder)
    try:
        _, words = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "it did not end"
    return "" if process.returncode == 0 else words[-500:]


def start(command: Command, folder: Path) -> subprocess.Popen[str]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "lond.cli", *command.arguments, "--out", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[str], *, everything: bool) -> str:
    """Kill the first process, or all of its group; return what is wrong if workers survive the first."""
    (os.killpg if everything else os.kill)(process.pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + GONE
    while _lives(process.pid):
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            return "workers went on without their parent"
        time.sleep(0.05)
    return ""


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def torture(commands: list[Command], folder: Path, kills: int, a_chain: int = 5, say: Any = print) -> dict[str, Any]:
    """Kill all commands in turn until ``kills`` have met; return what happened."""
    chains: list[Chain] = []
    uncut, seconds = {}, {}
    for command in commands:
        begun = time.monotonic()
        problem = finish(command, folder / f"{command.name}-uncut")
        assert not problem, f"{command.name}: {problem}"
        seconds[command.name] = time.monotonic() - begun
        uncut[command.name] = command.answer(folder / f"{command.name}-uncut")
        say(f"{command.name}: {seconds[command.name]:.0f} s uncut")
    while (done := sum(chain.kills for chain in chains)) < kills and all(chain.equal for chain in chains):
        command = commands[len(chains) % len(commands)]
        asked = min(a_chain, kills - done)
        length = seconds[command.name]
        chain = run_chain(command, uncut[command.name], folder / "cut", asked, length, seed=len(chains))
        chains.append(chain)
        say(f"{chain.command}: {chain.kills} kills, {'equal' if chain.equal else 'NOT EQUAL ' + chain.problem}")
    return {
        "kills": sum(chain.kills for chain in chains),
        "chains": len(chains),
        "equal_ends": sum(chain.equal for chain in chains),
        "by_command": {name: sum(chain.kills for chain in chains if chain.command == name) for name in seconds},
        "list": [asdict(chain) for chain in chains],
    }
