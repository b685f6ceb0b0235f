"""Options that name a cluster: refused in one line before any work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster.fake_ray import FakeRay

from lond.cli.cluster import chosen_cluster, jobs_and_threads
from lond.cluster import session
from lond.cluster.tasks import RayCluster
from lond.errors import ConfigError

Call = Callable[..., tuple[int, str, str]]
RUNS = ("compare", "--preset", "digits", "--methods", "standard")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((*RUNS, "--on", "slurm"), "--on slurm is unknown; use local or ray"),
        ((*RUNS, "--ray-address", "head:1"), "--ray-address needs --on ray"),
        ((*RUNS, "--jobs", "0"), "--jobs must be at least 1"),
        ((*RUNS, "--on", "ray", "--ray-address", "127.0.0.1:1"), "no Ray cluster answers at 127.0.0.1:1"),
        (("reproduce", "table1", "--on", "slurm"), "--on slurm is unknown"),
        (("reproduce", "table1", "--scale", "smoke", "--on", "ray", "--ray-address", "h"), "host:port, auto or local"),
        (("audit", "photos", "--jobs", "2"), "--jobs is for --on ray"),
        (("audit", "photos", "--on", "ray", "--ray-address", "127.0.0.1:1"), "no Ray cluster answers"),
    ],
)
def test_wrong_options_are_one_line(
    options: tuple[str, ...], told: str, lond: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    code, _, error = lond(*options)
    assert code == 2 and told in error and error.count("\n") == 1


def test_without_ray_the_extra_is_named(lond: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, error = lond(*RUNS, "--on", "ray")
    assert code == 2 and "pip install 'lond[ray]'" in error and error.count("\n") == 1


def test_this_machine_is_no_cluster() -> None:
    with chosen_cluster("local", "") as cluster:
        assert cluster is None


def test_numbers_of_jobs_and_threads() -> None:
    assert jobs_and_threads(None, 0, "local") == (1, 0) and jobs_and_threads(3, 2, "local") == (3, 2)
    assert jobs_and_threads(2, 0, "local") == (2, max(1, (os.cpu_count() or 1) // 2))
    assert jobs_and_threads(None, 0, "ray") == (0, 1) and jobs_and_threads(4, 2, "ray") == (4, 2)
    for jobs, threads in ((0, 0), (1, -1)):
        with pytest.raises(ConfigError, match="at least"):
            jobs_and_threads(jobs, threads, "ray")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    ray = FakeRay()

    @contextmanager
    def connected(address: str) -> Iterator[Any]:
        yield RayCluster(ray)

    monkeypatch.setattr(session, "connected", connected)
    return ray


QUICK = ("--epochs", "1", "--set", "net.width=0.125", "--set", "train.max_steps=1", "--accelerator", "cpu")


def test_compare_trains_on_the_cluster(fake: FakeRay, lond: Call, tmp_path: Path) -> None:
    out = tmp_path / "c"
    code, shown, error = lond(*RUNS, *QUICK, "--out", out, "--on", "ray", "--threads", "1")
    assert code == 0 and "[1/1] standard, seed 0: accuracy" in shown, error
    assert len(fake.calls) == 1 and (out / "standard-seed0" / "metrics.json").is_file()
    code, shown, _ = lond(*RUNS, *QUICK, "--out", out, "--on", "ray", "--threads", "1")
    assert code == 0 and "1 runs, 1 finished before" in shown and len(fake.calls) == 1


def test_reproduce_trains_on_the_cluster(fake: FakeRay, lond: Call, tmp_path: Path) -> None:
    cells = ("--cells", "Standard", "--cells", "sym80", "--cells", "cifar80n")
    code, _, error = lond(
        "reproduce", "table1", "--scale", "smoke", *cells, "--out", tmp_path, "--on", "ray", "--accelerator", "cpu"
    )
    assert code == 0 and len(fake.calls) == 1, error
