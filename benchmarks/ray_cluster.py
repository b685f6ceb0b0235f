"""Train runs on a Ray cluster of several nodes on this machine, kill one of them in the middle, and store what is lost.

    python -m benchmarks.ray_cluster --out results/ray_cluster.json

Takes a few minutes on two cores; ``make test`` runs a short version.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lond.cluster.session import connected
from lond.config import NetSettings
from lond.io.json_files import write_json
from lond.presets.benchmarks import preset
from lond.progress.events import Event, listening
from lond.results import on_cluster
from lond.results.batch import Outcome, carry_out
from lond.results.jobs import Job, plan
from lond.train.runtime import RuntimeSettings

TRACE = "trace.jsonl"
"""File that every worker adds a line to, for each attempt at a run and each epoch that it trained."""

QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "worker_niceness": 0,
}
"""Settings of Ray by which a dead node is found in seconds, and workers are not slower than other processes."""

STORE_BYTES = 80_000_000
KILLED_WITHIN = 300.0
WAIT_FOR_KILL, WAIT_FOR_DEATH = 10.0, 0.5

_train_there = on_cluster.train_there


@dataclass(frozen=True)
class Nodes:
    """A cluster of local nodes: a head without CPUs, and others with one each, by the process id of their raylet."""

    cluster: Any
    address: str
    workers: dict[int, Any]

    def kill(self, raylet: int) -> None:
        """Kill a node as a power failure would."""
        self.cluster.remove_node(self.workers.pop(raylet), allow_graceful=False)


@contextmanager
def local_nodes(count: int) -> Iterator[Nodes]:
    """Give a cluster of ``count`` nodes with one CPU each, all on this machine."""
    from ray.cluster_utils import Cluster

    options = {"object_store_memory": STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICK, **options})
    try:
        nodes = [cluster.add_node(num_cpus=1, **options) for _ in range(count)]
        raylets = {node.all_processes["raylet"][0].process.pid: node for node in nodes}
        yield Nodes(cluster, cluster.address, raylets)
    finally:
        cluster.shutdown()


def traced(job: Job, attempt: int, *shared: Any) -> Any:
    """Train on a node as usual, and leave a trace of the attempt and every epoch; a worker's parent is its raylet."""
    about = {"run": job.folder.name, "attempt": attempt, "raylet": os.getppid(), "finished": job.finished}
    trace = job.folder.parent / TRACE
    _add(trace, about)

    def note(event: Event) -> None:
        if event.record is not None:
            _add(trace, about | {"epoch": event.record["epoch"]})
            if event.record["epoch"] >= 1:
                _wait_for_the_kill(trace)

    with listening(note):
        return _train_there(job, attempt, *shared)


def _wait_for_the_kill(trace: Path) -> None:
    """Wait until a node was killed: a fast machine would have finished the run by then."""
    deadline = time.monotonic() + WAIT_FOR_KILL
    while '"killed"' not in trace.read_text("utf-8") and time.monotonic() < deadline:
        time.sleep(0.05)
    # The node of this very run may be the one, and dies a moment later.
    time.sleep(WAIT_FOR_DEATH)


def _add(trace: Path, content: dict[str, Any]) -> None:
    with trace.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content) + "\n")


def read_trace(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the trace, none if there is no file yet."""
    path = folder / TRACE
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def kill_in_the_middle(nodes: Nodes, folder: Path, stop: threading.Event) -> None:
    """Kill the first node whose run has a finished epoch and is not at its end."""
    deadline = time.monotonic() + KILLED_WITHIN
    while time.monotonic() < deadline and not stop.wait(0.05):
        for line in read_trace(folder):
            run = folder / line["run"]
            begun = line.get("epoch", 0) >= 1 and not (run / "metrics.json").is_file()
            if begun and line["raylet"] in nodes.workers:
                _add(folder / TRACE, {"killed": line["raylet"]})
                nodes.kill(line["raylet"])
                return


def small_jobs(folder: Path, runs: int, epochs: int) -> list[Job]:
    """Return runs of plain cross-entropy on digits, one a seed."""
    config = preset("digits", method="standard")
    train = replace(config.train, epochs=epochs, evaluate_every=epochs, batch_size=32)
    return plan({"standard": replace(config, net=NetSettings(width=0.125), train=train)}, range(runs), folder)


def measure(folder: Path, *, nodes: int, runs: int, epochs: int, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Train on a cluster that loses a node, and return what became of the runs."""
    runtime, there = RuntimeSettings("cpu", threads=1), folder / "cluster"
    there.mkdir(parents=True)
    jobs, stop = small_jobs(there, runs, epochs), threading.Event()
    begun = time.monotonic()
    with local_nodes(nodes) as cluster_nodes, connected(cluster_nodes.address) as cluster:
        started = time.monotonic()
        killer = threading.Thread(target=kill_in_the_middle, args=(cluster_nodes, there, stop))
        killer.start()
        try:
            with patch.object(on_cluster, "train_there", traced):
                outcome = carry_out(jobs, folder / "store", workers=0, cluster=cluster, runtime=runtime, say=say)
                again = carry_out(jobs, folder / "store", workers=0, cluster=cluster, runtime=runtime, say=say)
        finally:
            stop.set()
            killer.join()
    times = {"seconds_to_start": round(started - begun, 1), "seconds": round(time.monotonic() - started, 1)}
    same = _equal_to_uncut(outcome, jobs, folder, runtime, epochs)
    return {"nodes": nodes, "runs": runs, "epochs": epochs} | _counted(read_trace(there), outcome, again, jobs) | {
        "results_equal_to_uncut_runs": same, **times
    }  # fmt: skip


def _counted(trace: list[dict[str, Any]], outcome: Outcome, again: Outcome, jobs: list[Job]) -> dict[str, Any]:
    attempts = [line for line in trace if "killed" not in line and "epoch" not in line]
    epochs = Counter((line["run"], line["epoch"]) for line in trace if "epoch" in line)
    twice = [
        job.folder.name
        for job in jobs
        if all(epochs[job.folder.name, epoch] > 1 for epoch in range(1, job.config.train.epochs + 1))
    ]
    return {
        "nodes_killed": sum("killed" in line for line in trace),
        "runs_cut": len(attempts) - len({line["run"] for line in attempts}),
        "runs_lost": sum(job not in outcome.records for job in jobs),
        "runs_done_twice": len(twice) + sum(line["finished"] for line in attempts),
        "epochs_trained_twice": sum(count > 1 for count in epochs.values()),
        "problems": len(outcome.problems) + len(again.problems),
    }


def _equal_to_uncut(outcome: Outcome, jobs: list[Job], folder: Path, runtime: RuntimeSettings, epochs: int) -> int:
    """Train the same runs one after the other in this process; return how many have the same figures."""
    here = small_jobs(folder / "here", len(jobs), epochs)
    uncut = carry_out(here, folder / "other store", runtime=runtime)
    pairs = zip(jobs, here, strict=True)
    return sum(
        a in outcome.records and outcome.records[a].metrics == uncut.records[b].metrics
        and outcome.records[a].curves["loss"] == uncut.records[b].curves["loss"]
        for a, b in pairs
    )  # fmt: skip


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/ray_cluster.json"))
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), nodes=options.nodes, runs=options.runs, epochs=options.epochs)
    found["command"] = "python -m benchmarks.ray_cluster"
    found["versions"] = {name: version(name) for name in ("lond", "ray", "torch")} | {
        "python": platform.python_version()
    }
    write_json(options.out, found)
    print(found)


if __name__ == "__main__":
    main()
