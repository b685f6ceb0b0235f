"""Runs that belong together: planned, and trained one after the other or side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from lond.config import RunConfig
from lond.errors import ConfigError, LondError
from lond.methods import ALL_METHODS, Method
from lond.nets.backbones import ALL_BACKBONES, Builder
from lond.presets.changes import with_seed
from lond.results.gather import record_of
from lond.results.records import Record
from lond.runs import METRICS, train_run
from lond.runs.folder import claim
from lond.train.runtime import RuntimeSettings
from lond.train.state import CHECKPOINT

ORPHANED = 75
"""Exit code of a process whose parent has gone."""

LONGEST_TEXT = 2000
"""Characters of a problem or a warning that are kept."""

Warned = tuple[str, type[Warning], str, int]
"""A warning on its way from the process it was given in: text, category, file and line."""

Show = Callable[[str, type[Warning], str, int], None]
"""Shows a warning."""


@dataclass(frozen=True)
class Job:
    """One run among several."""

    name: str
    """What the run is called; repetitions with other seeds share it."""
    config: RunConfig
    folder: Path

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return self.config.train.seed

    @property
    def title(self) -> str:
        """What the run is called in messages."""
        return f"{self.name}, seed {self.seed}"

    @property
    def finished(self) -> bool:
        """Whether the folder holds the result."""
        return (self.folder / METRICS).is_file()

    @property
    def begun(self) -> bool:
        """Whether the run was cut: its folder holds a state to resume from, but no result."""
        return (self.folder / CHECKPOINT).is_file() and not self.finished

    def is_met_by(self, record: Record) -> bool:
        """Tell whether a stored record of this run holds all that is needed."""
        return True

    def complete(self, runtime: RuntimeSettings) -> str:
        """Add to the finished run what its record needs; return the problem, "" if there is none."""
        return ""

    def record(self) -> Record:
        """Return the record of the finished run."""
        return record_of(self.folder)

    def notes_on(self, record: Record) -> list[str]:
        """Return what a reader of the record must know."""
        return []


def plan(configs: Mapping[str, RunConfig], seeds: Sequence[int], folder: Path) -> list[Job]:
    """Return one job a method and seed; a folder that is not there yet is made when the training begins.

    Raises:
        ConfigError: a folder holds a run of other settings; nothing has been trained or written yet.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder. Choose another folder for the runs.")
    jobs = []
    for seed in seeds:
        for method, config in configs.items():
            jobs.append(Job(method, with_seed(config, seed), folder / f"{method}-seed{seed}"))
    for job in jobs:
        if job.folder.exists():
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
        yield job, train_job(job, runtime)


def _side_by_side(jobs: Sequence[Job], workers: int, runtime: RuntimeSettings) -> Generator[tuple[Job, str | None]]:
    """Run every job in a separate process, so that a crash does not affect the others."""
    context = multiprocessing.get_context("spawn")
    waiting, running = deque(jobs), dict[Connection, tuple[SpawnProcess, Job]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_train_and_tell, args=(job, runtime, sender, ALL_METHODS.added, ALL_BACKBONES.added)
                )
                with _deaf_to_interrupts():
                    process.start()
                sender.close()
                running[receiver] = (process, job)
            ready = wait(list(running))
            for receiver in [receiver for receiver in running if receiver in ready]:
                process, job = running[receiver]
                told = _told(process, receiver)
                if isinstance(told, tuple):
                    warnings.showwarning(*told)
                    continue
                process.join()
                del running[receiver]
                receiver.close()
                yield job, told
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that an interrupt from the keyboard does not reach: their parent ends them.

    One that comes meanwhile waits until the parent listens again, where the system can make it wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    blocked = hasattr(signal, "pthread_sigmask")
    if blocked:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _told(process: SpawnProcess, receiver: Connection) -> Warned | str | None:
    """Return a warning, or what a process told last: its problem, if any."""
    try:
        told: Warned | str | None = receiver.recv()
    except (EOFError, OSError):  # the second: it ended in the middle of a message
        process.join()
        return f"its process ended with exit code {process.exitcode} (out of memory?); start again with fewer jobs"
    return told


def _train_and_tell(
    job: Job,
    runtime: RuntimeSettings,
    sender: Connection,
    methods: Mapping[str, type[Method]],
    backbones: Mapping[str, Builder],
) -> None:
    """Train in a separate process; the parent shows the warnings and passes on registered classes."""
    _end_with_parent()
    ALL_METHODS.added.update(methods)
    ALL_BACKBONES.added.update(backbones)

    def tell(text: str, category: type[Warning], filename: str, lineno: int) -> None:
        sender.send((text[:LONGEST_TEXT], category, filename, lineno))

    sender.send(train_job(job, runtime, show_progress=False, show=tell))


def _end_with_parent() -> None:
    """Let this process end as soon as the one that started it does, however that ends; a run can be resumed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(ORPHANED)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


def train_job(
    job: Job, runtime: RuntimeSettings, *, show_progress: bool | None = None, show: Show | None = None
) -> str | None:
    """Train a run in this process; return the problem, None if there is none."""
    try:
        with _named_warnings(job, show or warnings.showwarning):
            train_run(job.config, job.folder, runtime, show_progress=show_progress)
    except Exception as error:  # whatever it is, the other runs go on, and the reason is told
        return problem_text(error)
    return None


def problem_text(error: Exception) -> str:
    """Return an error in one line; one that is not ours with its kind."""
    # A pipe holds only so much, and nobody reads a page of it in a table.
    text = " ".join(str(error).split())[:LONGEST_TEXT]
    return text if isinstance(error, LondError) else f"{type(error).__name__}: {text}"


@contextmanager
def _named_warnings(job: Job, show: Show) -> Iterator[None]:
    """Let warnings name the run they come from; what another run was warned of is told again."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, category, filename, lineno, *_: show(
            f"{job.name}, seed {job.seed}: {message}", category, filename, lineno
        )
        yield
