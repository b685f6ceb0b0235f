"""Connect to a Ray cluster, or start one on this machine, and always leave it again."""

from __future__ import annotations

import importlib
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lond.cluster.tasks import RayCluster
from lond.errors import ConfigError, MissingDependencyError

REACHABLE_WITHIN = 5.0
"""Seconds in which a cluster must answer; Ray itself would try for minutes."""

START = "start one with: ray start --head"


@contextmanager
def connected(address: str = "") -> Iterator[RayCluster]:
    """Give a Ray cluster to work on; the connection ends with the context.

    A program that has called ``ray.init`` itself keeps its own connection.

    Args:
        address: ``host:port`` of a cluster, "auto" for the one that this machine is part of, "local" to start one on
            this machine. Empty takes what RAY_ADDRESS names, else "auto", else "local".

    Raises:
        ConfigError: the cluster cannot be reached.
        MissingDependencyError: Ray is not installed.
    """
    ray = _ray()
    if ray.is_initialized():
        if address not in ("", "auto", ray.get_runtime_context().gcs_address):
            raise ConfigError(f"this program is connected to another Ray cluster than {address}; leave the address out")
        yield RayCluster(ray)
        return
    with _calm(ray):
        try:
            _connect(ray, address or os.environ.get("RAY_ADDRESS", ""))
            yield RayCluster(ray)
        finally:
            ray.shutdown()


def _ray() -> Any:
    # Otherwise Ray reports every cluster that it starts to its makers, and warns of a change to come.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingDependencyError("running on a Ray cluster needs Ray: pip install 'lond[ray]'") from error


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address in ("", "auto"):
        if _is_part_of_a_cluster() and _initialised(ray, "auto", options):
            return
        if address:
            raise ConfigError(f"this machine is part of no running Ray cluster; {START}, or name one with host:port")
        address = "local"
    if address == "local":
        ray.init(address="local", include_dashboard=False, **options)
        return
    _check_address(address)
    if not _initialised(ray, address, options):
        raise ConfigError(f"what answers at {address} is no Ray cluster that this machine is part of; {START}")


def _initialised(ray: Any, address: str, options: dict[str, Any]) -> bool:
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError):
        return False
    return True


def _check_address(address: str) -> None:
    """Check that something answers at ``host:port``.

    Raises:
        ConfigError: nothing does, or it is another kind of address.
    """
    if "://" in address:
        raise ConfigError(f"{address} is for Ray's client: run the command on a machine of the cluster, with host:port")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"the address of a Ray cluster is host:port, auto or local, not {address!r}")
    if not _answers(host, int(port)):
        raise ConfigError(f"no Ray cluster answers at {address}; check the address, or {START}")


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=REACHABLE_WITHIN).close()
    except (OSError, OverflowError):
        return False
    return True


def _is_part_of_a_cluster() -> bool:
    """Tell whether the cluster that was last started or joined here still answers; True if Ray does not tell which."""
    try:
        address = importlib.import_module("ray._private.utils").read_ray_address()
    except (ImportError, AttributeError):
        return True
    host, _, port = (address or "").rpartition(":")
    return not port.isdigit() or _answers(host, int(port))


@contextmanager
def _calm(ray: Any) -> Iterator[None]:
    """Keep Ray from printing the log of every lost machine among the results; what matters is told by ``tasks``."""
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    name = "print_to_stdstream"
    if not hasattr(worker, name):
        yield
        return
    before = getattr(worker, name)
    setattr(worker, name, lambda *_, **__: None)
    try:
        yield
    finally:
        setattr(worker, name, before)
