"""Runs that belong together: planned, checked before any work, trained one after the other or side by side."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from lond.config import RunConfig
from lond.errors import LondError
from lond.runs import METRICS, train_run
from lond.runs.folder import claim
from lond.train.runtime import RuntimeSettings

LONGEST_PROBLEM = 2000
"""Characters of a problem that are kept."""


@dataclass(frozen=True)
class Job:
    """One run among several."""

    method: str
    seed: int
    config: RunConfig
    folder: Path

    @property
    def finished(self) -> bool:
        """True if the run has its result."""
        return (self.folder / METRICS).is_file()


def plan(configs: Mapping[str, RunConfig], seeds: Sequence[int], folder: Path) -> list[Job]:
    """Return one job a method and seed.

    Raises:
        ConfigError: a folder holds a run of other settings; nothing has been trained yet.
    """
    jobs = []
    for seed in seeds:
        for method, config in configs.items():
            seeded = replace(config, train=replace(config.train, seed=seed))
            jobs.append(Job(method, seed, seeded, folder / f"{method}-seed{seed}"))
    for job in jobs:
        claim(job.folder, job.config)
    return jobs


def train_all(jobs: Sequence[Job], workers: int, runtime: RuntimeSettings) -> Generator[tuple[Job, str | None]]:
    """Train one after the other, or in several processes, and yield each job as it ends with its problem, if any.

    Whatever goes wrong in one run does not stop the others; an interrupt stops all of them.
    """
    if workers > 1:
        yield from _side_by_side(jobs, workers, runtime)
        return
    for job in jobs:
        yield job, _train(job, runtime)


def _side_by_side(jobs: Sequence[Job], workers: int, runtime: RuntimeSettings) -> Generator[tuple[Job, str | None]]:
    """Give every job a process of its own, so that one that dies takes nothing with it."""
    context = multiprocessing.get_context("spawn")
    waiting, running = deque(jobs), dict[int, tuple[SpawnProcess, Connection, Job]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_train_and_tell, args=(job, runtime, sender))
                with _deaf_to_interrupts():
                    process.start()
                sender.close()
                running[process.sentinel] = (process, receiver, job)
            for sentinel in wait(list(running)):
                assert isinstance(sentinel, int)
                process, receiver, job = running.pop(sentinel)
                process.join()
                yield job, _told(process, receiver)
    finally:
        for process, _, _ in running.values():
            process.terminate()
            process.join()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that an interrupt from the keyboard does not reach: their parent ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _told(process: SpawnProcess, receiver: Connection) -> str | None:
    """Return the problem that a process told of before it ended."""
    try:
        told: str | None = receiver.recv()
    except EOFError:
        return f"its process ended with exit code {process.exitcode} (out of memory?); start again with fewer jobs"
    return told


def _train_and_tell(job: Job, runtime: RuntimeSettings, sender: Connection) -> None:
    sender.send(_train(job, runtime, show_progress=False))


def _train(job: Job, runtime: RuntimeSettings, show_progress: bool | None = None) -> str | None:
    try:
        train_run(job.config, job.folder, runtime, show_progress=show_progress)
    except Exception as error:  # whatever it is, the other runs go on, and the reason is told
        # A pipe holds only so much, and nobody reads a page of it in a table.
        text = " ".join(str(error).split())[:LONGEST_PROBLEM]
        return text if isinstance(error, LondError) else f"{type(error).__name__}: {text}"
    return None
