"""Connecting: what is taken for which address, one line if there is nothing, and nothing left connected."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lond.cluster import session
from lond.cluster.session import connected
from lond.errors import ConfigError, MissingDependencyError


class StubRay:
    """Remembers how it was initialised and whether it was shut down."""

    def __init__(self) -> None:
        self.inits: list[dict[str, Any]] = []
        self.connected = False
        self.answers = True
        self.printed: list[str] = []
        self._private = SimpleNamespace(worker=SimpleNamespace(print_to_stdstream=self.printed.append))

    def is_initialized(self) -> bool:
        return self.connected

    def init(self, **options: Any) -> None:
        self.inits.append(options)
        if not self.answers and options["address"] != "local":
            raise ConnectionError
        self.connected = True

    def shutdown(self) -> None:
        self.connected = False

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address="here:1")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StubRay:
    stub = StubRay()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(session, "_ray", lambda: stub)
    monkeypatch.setattr(session, "_is_part_of_a_cluster", lambda: True)
    return stub


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def addresses(ray: StubRay) -> list[str]:
    return [options["address"] for options in ray.inits]


def test_without_an_address_the_running_cluster_is_taken_or_a_new_one_started(ray: StubRay) -> None:
    with connected() as cluster:
        assert cluster.ray is ray and ray.connected
    assert addresses(ray) == ["auto"] and not ray.connected
    ray.answers = False
    with connected():
        pass
    assert addresses(ray) == ["auto", "auto", "local"] and ray.inits[-1]["include_dashboard"] is False
    with pytest.raises(ConfigError, match="part of no running Ray cluster; start one with: ray start --head"):
        connected("auto").__enter__()


def test_an_address_is_tried_before_ray_waits_for_minutes(ray: StubRay, port: int) -> None:
    with connected(f"127.0.0.1:{port}"):
        assert addresses(ray) == [f"127.0.0.1:{port}"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with pytest.raises(ConfigError, match=f"no Ray cluster answers at 127.0.0.1:{free}"):
        connected(f"127.0.0.1:{free}").__enter__()
    ray.answers = False
    with pytest.raises(ConfigError, match="is no Ray cluster"):
        connected(f"127.0.0.1:{port}").__enter__()
    assert not ray.connected


def test_the_variable_of_ray_counts(ray: StubRay, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with connected():
        assert addresses(ray) == [f"127.0.0.1:{port}"]


@pytest.mark.parametrize(
    ("address", "told"),
    [("ray://head:10001", "for Ray's client"), ("head", "host:port, auto or local"), (":1", "host")],
)
def test_other_addresses_are_refused(address: str, told: str, ray: StubRay) -> None:
    with pytest.raises(ConfigError, match=told):
        connected(address).__enter__()
    assert not ray.inits


def test_whatever_happens_ray_is_shut_down(ray: StubRay) -> None:
    with pytest.raises(KeyboardInterrupt), connected("local"):
        raise KeyboardInterrupt
    assert not ray.connected


def test_a_connection_of_the_program_itself_stays(ray: StubRay) -> None:
    ray.connected = True
    with connected(), connected("here:1"):
        pass
    assert ray.connected and not ray.inits
    with pytest.raises(ConfigError, match="another Ray cluster than there:1"):
        connected("there:1").__enter__()


def test_ray_prints_no_logs_of_lost_machines_meanwhile(ray: StubRay) -> None:
    with connected("local"):
        ray._private.worker.print_to_stdstream("a page of a log")
    ray._private.worker.print_to_stdstream("after")
    assert ray.printed == ["after"]


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[ray\]'"):
        connected().__enter__()


def test_nothing_of_ray_is_imported_unless_asked_for() -> None:
    modules = "lond.cluster.session, lond.results.batch, lond.frozen.shards, lond.cli"
    code = f"import sys, {modules}; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
