"""Options of commands that can spread their work over machines: parsing and checking only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.shared import threads_of_a_run
from lond.errors import ConfigError

if TYPE_CHECKING:
    from lond.cluster.tasks import RayCluster

LOCAL, RAY = "local", "ray"

OnOption = Annotated[str, typer.Option("--on", help="Where to run: local (this machine) or ray (a Ray cluster).")]
AddressOption = Annotated[
    str,
    typer.Option(
        "--ray-address",
        help="host:port, auto or local; default: RAY_ADDRESS, this machine's cluster, or a new one.",
    ),
]
JobsOption = Annotated[int | None, typer.Option(help="Concurrent runs; default: 1, on Ray as many as fit.")]
ThreadsOption = Annotated[
    int, typer.Option(help="CPU threads per run; 0 = the cores divided among the jobs, on Ray 1.")
]


@contextmanager
def chosen_cluster(on: str, address: str) -> Iterator[RayCluster | None]:
    """Give the cluster that the options name; None is this machine.

    Raises:
        ConfigError: the options contradict each other, or the cluster cannot be reached.
        MissingDependencyError: Ray is not installed.
    """
    check_place(on, address)
    if on == LOCAL:
        yield None
        return
    from lond.cluster.session import connected

    with connected(address) as cluster:
        yield cluster


def check_place(on: str, address: str) -> None:
    """Check, before any work, that the options name a place.

    Raises:
        ConfigError: they do not.
    """
    if on not in (LOCAL, RAY):
        raise ConfigError(f"--on {on} is unknown; use {LOCAL} or {RAY}")
    if address and on != RAY:
        raise ConfigError("--ray-address needs --on ray")


def jobs_and_threads(jobs: int | None, threads: int, on: str) -> tuple[int, int]:
    """Return the runs at a time, 0 for as many as a cluster has room for, and the threads of each.

    Raises:
        ConfigError: a number is too small.
    """
    if (jobs is not None and jobs < 1) or threads < 0:
        raise ConfigError("--jobs must be at least 1, --threads at least 0")
    if on == RAY:
        return jobs or 0, threads or 1
    return jobs or 1, threads_of_a_run(threads, jobs or 1)
