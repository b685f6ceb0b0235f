"""Processes, precision and refusals; two real processes talk over gloo."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.tiny import lond_settings, tiny_samples, tiny_trainer, write_npz
from processes import train_all
from torch import Tensor

from lond.errors import ConfigError
from lond.methods import METHODS, sed
from lond.processes.group import current_group
from lond.train import Runtime, RuntimeSettings
from lond.train.checkpoint import load_state, same_state


def test_one_process() -> None:
    runtime = Runtime(RuntimeSettings(accelerator="cpu"))
    assert (runtime.rank, runtime.processes, runtime.is_main) == (0, 1, True)
    assert runtime.total(torch.ones(2)).tolist() == [1, 1]
    with runtime.together():
        assert current_group() is None
    weight = torch.nn.Parameter(torch.ones(2))
    runtime.backward((3 * weight).sum(), [weight, torch.nn.Parameter(torch.ones(1))])
    assert weight.grad.tolist() == [3, 3]
    assert runtime.union(["b", "a", "b"]) == ["b", "a"]
    threads = torch.get_num_threads()
    assert runtime.describe() == {"threads": threads, "device": "cpu", "precision": "32-true", "processes": 1}
    runtime.barrier()
    runtime.close()


@pytest.mark.parametrize(
    "values",
    [
        {"precision": "17-mixed"},
        {"accelerator": "abacus"},
        {"devices": 0},
        {"num_nodes": 0},
        {"timeout": 0},
        pytest.param({"accelerator": "gpu"}, marks=pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")),
    ],
)
def test_what_cannot_be_run_is_a_config_error(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Runtime(RuntimeSettings(**({"accelerator": "cpu"} | values)))


@pytest.mark.parametrize("precision", ["bf16-true", "64-true"])
def test_precisions_that_need_a_converted_network_are_refused(precision: str) -> None:
    with pytest.raises(ConfigError):
        Runtime(RuntimeSettings(accelerator="cpu", precision=precision))


@pytest.mark.parametrize("method", ["lond-drs", "standard"])
def test_half_precision_training_stays_finite(method: str) -> None:
    settings = lond_settings(warmup_epochs=0) if method == "lond-drs" else None
    runtime = RuntimeSettings(accelerator="cpu", precision="bf16-mixed")
    samples = tiny_samples()
    trainer = tiny_trainer(samples, method, settings=settings, runtime=runtime, epochs=1, test=samples)
    (record,) = trainer.run().history
    assert all(math.isfinite(value) for name, value in record.items() if name.startswith("loss"))
    assert all(parameter.dtype == torch.float32 for parameter in trainer.method.parameters())
    assert all(bool(parameter.isfinite().all()) for parameter in trainer.method.parameters())
    assert torch.get_default_dtype() == torch.float32


# Two processes

SCRIPT = """
import json, sys
from pathlib import Path
import torch
from lond.processes.group import current_group
from lond.processes.rows import by_rows
from lond.train import Runtime, RuntimeSettings

folder = Path(sys.argv[1])
runtime = Runtime(RuntimeSettings("cpu", devices=2, threads=1))
rank, group = runtime.rank, runtime.group
facts = {"processes": runtime.processes}

for dtype in (torch.float32, torch.bfloat16, torch.long, torch.uint8, torch.bool):
    facts[f"rows {dtype}"] = group.gather(torch.arange(7)[group.rows(7)].to(dtype), 7).tolist()
facts["objects"] = group.gather_objects({"rank": rank})
weight, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1))
runtime.backward((weight * torch.tensor([1.0 + rank, 10.0 * rank])).sum(), [unused, weight])
facts["gradient"] = weight.grad.tolist()
layer = torch.nn.BatchNorm1d(2)
layer.running_mean.fill_(rank)
layer.num_batches_tracked.fill_(5 + rank)
runtime.average_buffers(layer)
facts["total"] = runtime.total(torch.tensor([1.0, rank])).tolist()
facts["union"] = runtime.union([["loss", "a"], ["loss", "b", "a"]][rank])
facts["buffers"] = [layer.running_mean.tolist(), layer.num_batches_tracked.item()]
with runtime.together():
    assert current_group() is group
    scale = torch.nn.Parameter(torch.ones(1))
    (out,) = by_rows(lambda rows: (torch.nn.BatchNorm1d(1)(rows * scale),), torch.arange(5.0)[:, None])
    runtime.backward((out * torch.arange(5.0)[:, None] ** 2).mean(), [scale])
facts["normalised"] = out.flatten().tolist()
(folder / f"facts{rank}.json").write_text(json.dumps(facts))
runtime.barrier()
runtime.close()
"""


def run_python(*arguments: str) -> None:
    path = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_two_processes_talk(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run_python(str(script), str(tmp_path))
    for rank in range(2):
        facts = json.loads((tmp_path / f"facts{rank}.json").read_text())
        assert facts["processes"] == 2
        for dtype in ("float32", "bfloat16", "int64", "uint8"):
            assert facts[f"rows torch.{dtype}"] == list(range(7))
        assert facts["rows torch.bool"] == [False] + [True] * 6
        assert facts["objects"] == [{"rank": 0}, {"rank": 1}]
        assert facts["gradient"] == [1.5, 5.0]
        assert facts["buffers"] == [[0.5, 0.5], 5 + rank]
        assert facts["total"] == [2.0, 1.0]
        assert facts["union"] == ["loss", "a", "b"]
        assert facts["normalised"] == pytest.approx([-(2**0.5), -(0.5**0.5), 0, 0.5**0.5, 2**0.5], abs=1e-4)


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what two processes make of every method, and a run that they left unfinished."""
    folder = tmp_path_factory.mktemp("two")
    run_python(str(Path(__file__).parents[1] / "processes/train_all.py"), "2", str(folder))
    return folder


@pytest.mark.parametrize("kind", train_all.INPUTS)
@pytest.mark.parametrize("name", METHODS)
def test_two_processes_give_what_one_gives(name: str, kind: str, by_two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sed, "PATIENCE", 0)
    both = [load_state(by_two / f"{name}-{kind}-{rank}") for rank in range(2)]
    alone = train_all.end_of(name, kind, Runtime(RuntimeSettings("cpu", threads=1)))
    # Cross-fit judges by ranks, in which images that are almost equal change places.
    limit = 2e-2 if name == "cross-fit" else 1e-3
    for part in ("method", "extra", "told"):
        assert same_state(both[0][part], both[1][part]), part
        assert nearly(both[0][part], alone[part], limit), part
    for first, second, wanted in zip(both[0]["history"], both[1]["history"], alone["history"], strict=True):
        timeless = [{key: value for key, value in record.items() if key != "seconds"} for record in (first, second)]
        assert timeless[0] == timeless[1]
        assert nearly(timeless[0], {key: value for key, value in wanted.items() if key != "seconds"}, limit)


def nearly(found: Any, wanted: Any, limit: float = 1e-3) -> bool:
    """Tell whether two trees are equal, numbers but for what rounding makes of them in some steps."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(nearly(found[key], wanted[key], limit) for key in wanted)
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(nearly(*pair, limit) for pair in zip(found, wanted, strict=True))
    if isinstance(wanted, Tensor) and not wanted.is_floating_point():
        return torch.equal(found, wanted)
    if isinstance(wanted, Tensor):
        return torch.allclose(found, wanted, rtol=limit, atol=limit)
    if isinstance(wanted, float):
        return bool(found == pytest.approx(wanted, rel=limit, abs=limit, nan_ok=True))
    return bool(found == wanted)


def test_a_run_goes_on_with_another_number_of_processes(by_two: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(by_two, folder)
    runtime = Runtime(RuntimeSettings("cpu", threads=1))
    resumed, alone = (train_all.trainer_of("standard", "images", runtime, place) for place in (folder, None))
    with pytest.warns(UserWarning, match="processes 2 before, 1 now"):
        assert resumed.resume()
    assert len(resumed.history) == 1
    resumed.run()
    alone.run()
    assert nearly(resumed.method.state_dict(), alone.method.state_dict())
    assert len((folder / "log.jsonl").read_text().splitlines()) == 2


COMMAND = (
    *("-m", "lond.cli", "train", "--accelerator", "cpu", "--threads", "1", "--method", "standard"),
    *("--set", "net.width=0.25", "--set", "train.batch_size=32"),
)


def children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_lost_process_ends_the_run_with_one_line_and_one_process_goes_on(tmp_path: Path) -> None:
    source, folder = tmp_path / "images.npz", tmp_path / "run"
    write_npz(source)
    command = [sys.executable, *COMMAND, str(source), "--epochs", "25", "--out", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.Popen(
        [*command, "--devices", "2"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    log = folder / "log.jsonl"
    while not (log.exists() and log.read_text().count("\n")):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.02)
    for child in children(run.pid):
        os.kill(child, signal.SIGKILL)
    told = run.communicate(timeout=120)[0]
    assert run.returncode == 2, told
    assert told.count("error:") == 1
    assert "Start the same command again" in told
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
    assert again.returncode == 0, again.stderr
    assert "processes 2 before, 1 now" in again.stderr
    assert log.read_text().count("\n") == 25


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_stuck_process_ends_the_run_with_one_line_after_the_timeout(tmp_path: Path) -> None:
    source, folder = tmp_path / "images.npz", tmp_path / "run"
    write_npz(source)
    command = [sys.executable, *COMMAND, str(source), "--epochs", "500", "--out", str(folder)]
    run = subprocess.Popen(
        [*command, "--devices", "2", "--timeout", "15"],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    log = folder / "log.jsonl"
    while not (log.exists() and log.read_text().count("\n")):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.02)
    (stuck,) = children(run.pid)
    os.kill(stuck, signal.SIGSTOP)
    told = run.communicate(timeout=120)[0]
    assert run.returncode == 2, told
    assert told.count("error:") == 1
    assert "does not answer" in told
    assert "Start the same command again" in told
    assert not Path(f"/proc/{stuck}").exists()


def test_processes_that_slurm_started_write_one_run(tmp_path: Path) -> None:
    source, folder = tmp_path / "images.npz", tmp_path / "run"
    write_npz(source)
    command = [sys.executable, *COMMAND, str(source), "--epochs", "2", "--out", str(folder)]
    job = {
        **{"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_NNODES": "1", "SLURM_NODEID": "0"},
        **{"SLURM_JOB_NAME": "train", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())},
    }
    tasks = [
        subprocess.Popen(
            command,
            env={**os.environ, **job, "OMP_NUM_THREADS": "1", "SLURM_PROCID": rank, "SLURM_LOCALID": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in "01"
    ]
    outputs = [task.communicate(timeout=300)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], outputs
    assert ["run folder" in output for output in outputs] == [True, False]
    assert json.loads((folder / "manifest.json").read_text())["machine"]["processes"] == 2
    assert (folder / "log.jsonl").read_text().count("\n") == 2


def test_two_processes_from_the_command_line_write_one_run(tmp_path: Path) -> None:
    source, folder = tmp_path / "images.npz", tmp_path / "run"
    write_npz(source)
    settings = (
        "settings.warmup_epochs=1", "settings.identify.neighbours=10", "settings.identify.clean_quantile=1.0",
        "net.width=0.25", "train.batch_size=32",
    )  # fmt: skip
    changes = [part for text in settings for part in ("--set", text)]
    run_python(
        "-m", "lond.cli", "train", str(source), "--method", "lond-drs", "--epochs", "3", "--devices", "2",
        "--accelerator", "cpu", "--threads", "1", "--out", str(folder), *changes,
    )  # fmt: skip
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["images.npz", "run"]
    assert len((folder / "log.jsonl").read_text().splitlines()) == 3
    metrics = json.loads((folder / "metrics.json").read_text())
    assert math.isfinite(metrics["metrics"]["loss"])
    assert not list(folder.glob("*.tmp"))
    assert len((folder / "verdicts.csv").read_text().splitlines()) == 97


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_two_machines_under_torchrun_write_one_run(tmp_path: Path) -> None:
    source, folder, port = tmp_path / "images.npz", tmp_path / "run", free_port()
    write_npz(source)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "1",
        "--master_addr", "127.0.0.1", "--master_port", str(port),
    ]  # fmt: skip
    task = [
        "-m", "lond.cli", "train", str(source), "--epochs", "2", "--accelerator", "cpu",
        "--threads", "1", "--out", str(folder), "--method", "standard",
        "--set", "net.width=0.25", "--set", "train.batch_size=32",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    machines = [
        subprocess.Popen(
            [*command, "--node_rank", str(rank), *task],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [machine.communicate(timeout=240)[0] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], outputs
    assert ["run folder" in output for output in outputs] == [True, False]
    assert len((folder / "log.jsonl").read_text().splitlines()) == 2
    assert len((folder / "verdicts.csv").read_text().splitlines()) == 97
