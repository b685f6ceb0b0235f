"""Runs that belong together: planned, checked before any work, trained one after the other or side by side."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from lond.config import RunConfig
from lond.errors import LondError
from lond.runs import METRICS, train_run
from lond.runs.folder import claim
from lond.train.runtime import RuntimeSettings


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


def train_all(jobs: Sequence[Job], workers: int, runtime: RuntimeSettings) -> Iterator[tuple[Job, str | None]]:
    """Train in one or several processes and yield each job, as it ends, with its problem, if it had one."""
    if workers == 1:
        for job in jobs:
            yield job, _train(job, runtime)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(_train, job, runtime, False): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _train(job: Job, runtime: RuntimeSettings, show_progress: bool | None = None) -> str | None:
    try:
        train_run(job.config, job.folder, runtime, show_progress=show_progress)
    except LondError as error:
        return " ".join(str(error).split())
    return None
