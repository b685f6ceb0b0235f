"""Start the processes of a run on this machine, and end the run when one of them is lost."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.strategies.launchers.subprocess_script import _SubprocessScriptLauncher

GRACE = 20.0
"""Seconds that the first process has to notice by itself that another one ended, and others to end after it."""

POLL = 0.5
"""Seconds between two looks at the other processes."""


class WatchedLauncher(_SubprocessScriptLauncher):
    """Fabric's launcher, but a lost process ends the run with one line instead of a kill without words."""

    def launch(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Start the other processes of this machine, unless somebody else does, then call ``function``."""
        self.cluster_environment.validate_settings(num_devices=self.num_processes, num_nodes=self.num_nodes)
        if not self.cluster_environment.creates_processes_externally:
            self._call_children_scripts()
            atexit.register(end_children, self.procs)
            threading.Thread(target=watch, args=(self.procs,), daemon=True, name="watch").start()
        return function(*args, **kwargs)


class WatchedStrategy(DDPStrategy):
    """Fabric's processes with our launcher; gradients are averaged by the runtime."""

    def __init__(self, timeout: float) -> None:
        """Give up on a process after ``timeout`` seconds."""
        super().__init__(timeout=timedelta(seconds=timeout))

    def _configure_launcher(self) -> None:
        assert self.cluster_environment is not None
        self._launcher = WatchedLauncher(self.cluster_environment, self.num_processes, self.num_nodes)


def watch(
    children: Sequence[subprocess.Popen[Any]], grace: float = GRACE, leave: Callable[[int], Any] = os._exit
) -> None:
    """Wait until all children have ended well, or leave this process after one of them has not.

    A process that waits for a dead one in a collective notices on most machines, and says so; if it does not within
    ``grace`` seconds, this says it.
    """
    while any(child.poll() is None for child in children) and not any(child.poll() for child in children):
        time.sleep(POLL)
    failed = next((child for child in children if child.poll()), None)
    if failed is None:
        return
    time.sleep(grace)
    print(
        f"error: a process of the run ended (exit code {failed.returncode}). Start the same command again: the run "
        "resumes after its last finished epoch, on as many processes as you like.",
        file=sys.stderr,
        flush=True,
    )
    end_children(children, 0)
    leave(2)


def end_children(children: Sequence[subprocess.Popen[Any]], grace: float = GRACE) -> None:
    """Wait for processes to end; end those that have not after ``grace`` seconds."""
    deadline = time.monotonic() + grace
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
