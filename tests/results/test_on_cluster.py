"""Runs on a cluster: what is sent, what comes back, and what a node that dies takes with it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster.fake_ray import FakeRay

from lond.cluster.tasks import RayCluster
from lond.config import NetSettings, RunConfig
from lond.io.lock import locked
from lond.methods import ALL_METHODS, Standard
from lond.presets.benchmarks import preset
from lond.results import jobs as result_jobs
from lond.results import on_cluster
from lond.results.jobs import Job, plan
from lond.results.on_cluster import train_on, train_there
from lond.train.runtime import RuntimeSettings


def jobs_in(folder: Path, *names: str) -> list[Job]:
    jobs = [Job(name, RunConfig(), folder / f"{name}-seed0") for name in names]
    for job in jobs:
        job.folder.mkdir(parents=True)
    return jobs


def test_each_run_comes_back_with_its_problem_and_its_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(config: RunConfig, folder: Path, runtime: RuntimeSettings, *, show_progress: bool) -> None:
        assert not show_progress and runtime.threads == 1
        if folder.name.startswith("broken"):
            raise RuntimeError("size\n mismatch")
        warnings.warn("few images", stacklevel=1)

    shown: list[str] = []
    monkeypatch.setattr(result_jobs, "train_run", train)
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: shown.append(str(message)))
    ray = FakeRay()
    jobs = jobs_in(tmp_path, "good", "broken", "lost")
    ray.losing[jobs[2]] = 1
    found = {job.name: problem for job, problem in train_on(RayCluster(ray), jobs, 0, RuntimeSettings("cpu"))}
    assert found == {"good": None, "broken": "RuntimeError: size mismatch", "lost": None}
    assert shown == [
        "good, seed 0: few images",
        "lost, seed 0: its machine or process was lost; it resumes elsewhere",
        "lost, seed 0: few images",
    ]
    assert ray.options["num_cpus"] == 1


def test_a_run_that_ended_before_its_node_died_is_not_trained_again(tmp_path: Path) -> None:
    ray, jobs = FakeRay(), jobs_in(tmp_path, "done")
    ray.losing[jobs[0]] = 1
    ray.after_loss = lambda job: (job.folder / "metrics.json").write_text("{}") and None
    assert list(train_on(RayCluster(ray), jobs, 0, RuntimeSettings("cpu"))) == [(jobs[0], None)]
    assert len(ray.calls) == 1


def test_a_machine_that_does_not_share_the_disk_says_so(tmp_path: Path) -> None:
    job = Job("standard", RunConfig(), tmp_path / "not there")
    problem, _ = train_there(job, 1, RuntimeSettings("cpu"), {}, {})
    assert problem is not None and "not there; choose a folder on a disk that all share" in problem


def test_a_second_attempt_waits_for_the_lock_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs_in(tmp_path, "standard")
    waited: list[tuple[Path, float]] = []
    monkeypatch.setattr(on_cluster, "wait_until_free", lambda *asked: waited.append(asked))
    monkeypatch.setattr(on_cluster, "train_job", lambda *_, **__: None)
    for attempt in (1, 2):
        assert train_there(job, attempt, RuntimeSettings("cpu"), {}, {}) == (None, [])
    assert waited == [(job.folder, on_cluster.FREE_WITHIN)]


def test_a_held_folder_is_not_trained(tmp_path: Path) -> None:
    config = preset("digits", method="standard")
    config = replace(config, net=NetSettings(width=0.125), train=replace(config.train, epochs=1, max_steps=1))
    (job,) = plan({"standard": config}, [0], tmp_path)
    job.folder.mkdir()
    with locked(job.folder):
        problem, _ = train_there(job, 1, RuntimeSettings("cpu", threads=1), {}, {})
    assert problem is not None and "another process is training the run" in problem and not job.finished


class Sent(Standard):
    name = "sent"


def test_registered_methods_are_sent_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[Any] = []
    monkeypatch.setattr(on_cluster, "train_job", lambda *_, **__: known.append(ALL_METHODS.added.get("sent")))
    train_there(jobs_in(tmp_path, "sent")[0], 1, RuntimeSettings("cpu"), {"sent": Sent}, {})
    assert known == [Sent]


@pytest.mark.slow
def test_a_node_that_is_killed_loses_no_run_and_none_is_done_twice(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from benchmarks.ray_cluster import measure

    said: list[str] = []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: said.append(str(message))
        found = measure(tmp_path, nodes=2, runs=2, epochs=4, say=said.append)
    assert found["nodes_killed"] == found["runs_cut"] == 1, (found, said)
    assert found["runs_lost"] == found["runs_done_twice"] == found["problems"] == 0, (found, said)
    assert found["epochs_trained_twice"] <= 1 and found["results_equal_to_uncut_runs"] == 2, (found, said)
    assert sum("resumes elsewhere" in line for line in said) == 1
    assert said[-1] == "2 runs, 2 finished before"
