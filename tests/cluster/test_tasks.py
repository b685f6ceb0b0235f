"""Work that is handed out ends once: workers that are lost, that fail, and that nobody waits for any more."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from cluster.fake_ray import FakeRay, RuntimeEnvSetupError

from lond.cluster.tasks import ATTEMPTS, Answer, Needs, RayCluster


def squared(item: int, attempt: int, *shared: Any) -> Any:
    if item < 0:
        raise ValueError("no\n negative numbers")
    return (item**2, attempt, *shared)


def test_every_item_comes_back_once_and_a_failing_one_stops_no_other() -> None:
    ray = FakeRay()
    found = dict(RayCluster(ray).run(squared, [1, -2, 3], Needs(2, 1), shared=("more",)))
    assert found == {1: Answer((1, 1, "more")), -2: Answer(problem="no negative numbers"), 3: Answer((9, 1, "more"))}
    assert ray.calls == [(1, 1), (-2, 1), (3, 1)] and not ray.cancelled
    assert {"num_cpus": 2, "num_gpus": 1, "max_retries": 0, "max_calls": 1}.items() <= ray.options.items()


def test_a_lost_worker_is_told_and_its_item_handed_out_again() -> None:
    ray, told = FakeRay(), list[str]()
    ray.losing[2] = 2
    found = dict(RayCluster(ray).run(squared, [1, 2], Needs(), tell=told.append))
    assert found[2] == Answer((4, 3)) and len(ray.calls) == 4
    assert told == ["2: its machine or process was lost; it resumes elsewhere"] * 2


def test_what_was_done_before_the_worker_was_lost_is_not_done_again() -> None:
    ray, done = FakeRay(), set[int]()
    ray.losing[2] = 1
    ray.after_loss = done.add
    found = dict(RayCluster(ray).run(squared, [1, 2], Needs(), is_done=lambda item: item in done))
    assert found[2] == Answer() and ray.calls == [(1, 1), (2, 1)]


def test_an_item_that_loses_every_worker_ends_with_a_problem() -> None:
    ray = FakeRay()
    ray.losing[2] = 99
    found = dict(RayCluster(ray).run(squared, [2, 1], Needs()))
    assert "lost 4 times (out of memory?)" in found[2].problem and found[1].value == (1, 1)
    assert ray.calls.count((2, ATTEMPTS)) == 1 and len(ray.calls) == ATTEMPTS + 1


def test_no_more_at_once_than_asked() -> None:
    for at_once, most in ((2, 2), (0, 5)):
        ray = FakeRay()
        assert len(list(RayCluster(ray).run(squared, range(5), Needs(), at_once=at_once))) == 5
        assert ray.most_at_once == most


@pytest.mark.parametrize("how", ["closed", "interrupted"])
def test_whoever_stops_waiting_cancels_the_rest(how: str) -> None:
    ray = FakeRay()

    def interrupt(references: list[int], num_returns: int = 1, timeout: float = 0) -> Any:
        if not ray.cancelled:
            raise KeyboardInterrupt
        return references, []

    if how == "closed":
        running = RayCluster(ray).run(squared, [1, 2, 3], Needs())
        next(running)
        running.close()
        assert ray.cancelled == [2, 3]
    else:
        ray.wait = interrupt  # type: ignore[method-assign]
        running = RayCluster(ray).run(squared, [1, 2, 3], Needs())
        with pytest.raises(KeyboardInterrupt):
            next(running)
        assert ray.cancelled == [1, 2, 3]


def test_other_errors_of_ray_are_problems() -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeEnvSetupError("no such\n environment")

    ((_, answer),) = RayCluster(FakeRay()).run(refuse, [1], Needs())
    assert answer.problem == "RuntimeEnvSetupError: no such environment"


def test_a_cluster_without_room_is_told_once() -> None:
    ray, told = FakeRay(nodes=[{"CPU": 1.0}]), list[str]()
    ray.patience = 3
    assert len(list(RayCluster(ray).run(squared, [1], Needs(4), tell=told.append))) == 1
    assert told == ["no machine of the Ray cluster has 4 CPUs; waiting until one has"]


def test_room_counts_living_machines() -> None:
    cluster = RayCluster(FakeRay(nodes=[{"CPU": 5.0, "GPU": 1.0}, {"CPU": 2.0}, {}]))
    assert [cluster.room(needs) for needs in (Needs(), Needs(2), Needs(3), Needs(1, 1))] == [7, 3, 1, 1]


def test_needs_follow_threads_and_accelerator() -> None:
    with_gpu, without = RayCluster(FakeRay(nodes=[{"CPU": 4.0, "GPU": 1.0}])), RayCluster(FakeRay())
    assert with_gpu.needs(0, "auto") == Needs(1, 1) and without.needs(0, "auto") == Needs(1, 0)
    assert with_gpu.needs(3, "cpu") == Needs(3, 0) and without.needs(1, "gpu") == Needs(1, 1)
    assert str(Needs(2, 1)) == "2 CPUs and 1 GPU"


def test_workers_learn_where_the_work_comes_from() -> None:
    ray, askers = FakeRay(), list[Any]()
    remote = ray.remote

    def kept(**options: Any) -> Any:
        start = remote(**options)(None).remote

        def note(packed: Any, asker: Any, shared: Any) -> Any:
            askers.append(asker)
            return start(packed, asker, shared)

        return lambda carried: type("Remote", (), {"remote": staticmethod(note)})

    ray.remote = kept  # type: ignore[method-assign]
    list(RayCluster(ray).run(squared, [1], Needs()))
    assert askers[0].folder == os.getcwd() and set(sys.path) == set(askers[0].paths)
