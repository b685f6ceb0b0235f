"""Runs on the machines of a Ray cluster, in folders on a disk that they share."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from lond.cluster.tasks import RayCluster
from lond.io.lock import wait_until_free
from lond.methods import ALL_METHODS, Method
from lond.nets.backbones import ALL_BACKBONES, Builder
from lond.results.jobs import LONGEST_TEXT, Job, Warned, train_job
from lond.train.runtime import RuntimeSettings

FREE_WITHIN = 180.0
"""Seconds in which the disk must have let go of the lock of a machine that died; NFS takes 90."""


def train_on(
    cluster: RayCluster, jobs: Sequence[Job], at_once: int, runtime: RuntimeSettings
) -> Generator[tuple[Job, str | None]]:
    """Train on a cluster and yield each job as it ends with its problem, if any; as ``lond.results.jobs.train_all``.

    A run whose machine is lost resumes elsewhere from its last checkpoint. An interrupt cancels all runs.

    Args:
        cluster: where.
        jobs: the runs; their folders are there, and every machine sees them at the same path.
        at_once: the most runs at a time; 0 = as many as the cluster has room for.
        runtime: threads and accelerator of each run; 0 threads count as one.
    """
    runtime = replace(runtime, threads=max(1, runtime.threads))
    shared = (runtime, dict(ALL_METHODS.added), dict(ALL_BACKBONES.added))
    ended = cluster.run(
        train_there,
        jobs,
        cluster.needs(runtime.threads, runtime.accelerator),
        at_once=at_once,
        shared=shared,
        is_done=lambda job: job.finished,
        tell=lambda text: warnings.showwarning(text, UserWarning, __file__, 0),
    )
    with closing(ended):
        for job, answer in ended:
            problem, told = answer.value or (answer.problem or None, [])
            for warning in told:
                warnings.showwarning(*warning)
            yield job, problem


def train_there(
    job: Job,
    attempt: int,
    runtime: RuntimeSettings,
    methods: Mapping[str, type[Method]],
    backbones: Mapping[str, Builder],
) -> tuple[str | None, list[Warned]]:
    """Train a run on a machine of a cluster; return its problem, if any, and the warnings."""
    told: list[Warned] = []
    if not job.folder.is_dir():
        return f"machine {platform.node()} does not see {job.folder}; choose a folder on a disk that all share", told
    ALL_METHODS.added.update(methods)
    ALL_BACKBONES.added.update(backbones)
    if attempt > 1:
        wait_until_free(job.folder, FREE_WITHIN)
    problem = train_job(
        job, runtime, show_progress=False, show=lambda text, *where: told.append((text[:LONGEST_TEXT], *where))
    )
    return problem, told
