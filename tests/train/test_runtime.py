"""Processes, precision and refusals; two real processes talk over gloo."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from methods.tiny import lond_settings, tiny_samples, tiny_trainer, write_npz
from torch import Tensor

from lond.errors import ConfigError
from lond.methods import METHODS
from lond.train import Runtime, RuntimeSettings
from lond.train.checkpoint import load_state, same_state


def test_one_process() -> None:
    runtime = Runtime(RuntimeSettings(accelerator="cpu"))
    assert (runtime.rank, runtime.processes, runtime.is_main) == (0, 1, True)
    rows = torch.randn(5, 2)
    assert torch.equal(runtime.gather_rows(rows, 5), rows)
    weight = torch.nn.Parameter(torch.ones(2))
    runtime.backward((3 * weight).sum(), [weight, torch.nn.Parameter(torch.ones(1))])
    assert weight.grad.tolist() == [3, 3]
    assert runtime.union(["b", "a", "b"]) == ["b", "a"]
    threads = torch.get_num_threads()
    assert runtime.describe() == {"threads": threads, "device": "cpu", "precision": "32-true", "processes": 1}
    runtime.barrier()
    runtime.close()


@pytest.mark.parametrize("processes", [2, 3, 4])
@pytest.mark.parametrize("total", [4, 7, 12])
def test_gathered_rows_are_in_order(processes: int, total: int) -> None:
    everything = torch.arange(total * 2.0).view(total, 2)
    longest = math.ceil(total / processes)
    shares = [everything[rank::processes] for rank in range(processes)]

    def all_gather(padded: Tensor) -> Tensor:
        assert padded.shape == (longest, 2)
        return torch.stack([torch.cat([s, torch.zeros(longest - len(s), 2)]) for s in shares])

    for rank in range(processes):
        runtime = object.__new__(Runtime)
        runtime.rank, runtime.processes = rank, processes
        runtime.fabric = SimpleNamespace(all_gather=all_gather)
        assert torch.equal(runtime.gather_rows(shares[rank], total), everything)


@pytest.mark.parametrize(
    "values",
    [
        {"precision": "17-mixed"},
        {"accelerator": "abacus"},
        {"devices": 0},
        {"num_nodes": 0},
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
from collections import Counter
from pathlib import Path
import torch
from lond.train import Runtime, RuntimeSettings
from lond.train.checkpoint import save_state
from methods.tiny import lond_settings, tiny_samples, tiny_trainer

folder = Path(sys.argv[1])
runtime = Runtime(RuntimeSettings("cpu", devices=2, threads=1))
rank = runtime.rank
facts = {"processes": runtime.processes}

facts["rows"] = runtime.gather_rows(torch.arange(7)[rank::2], 7).tolist()
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

labels = torch.arange(40) % 3
labels[:15] = (labels[:15] + 1) % 3
samples = tiny_samples(40, labels=labels)
trainer = tiny_trainer(samples, settings=lond_settings(), runtime=runtime, folder=folder, test=samples, epochs=3)
mine = [{"loss": (6.0, 3), "a": (1.0, 1)}, {"loss": (8.0, 4), "b": (5.0, 2), "a": (8.0, 2)}][rank]
sums = {name: torch.tensor(value) for name, (value, _) in mine.items()}
facts["averages"] = trainer._averages(sums, Counter({name: count for name, (_, count) in mine.items()}))
result = trainer.run()
trainer.predict(samples)
state = {"method": trainer.method.state_dict(), "extra": trainer.method.extra_state()}
save_state(folder / f"rank{rank}", state)
facts["records"] = len(result.history)
(folder / f"facts{rank}.json").write_text(json.dumps(facts))
runtime.barrier()
runtime.close()
"""


def run_python(*arguments: str) -> None:
    path = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]


METHODS_SCRIPT = """
import json, sys
from pathlib import Path
import torch
from lond.methods import METHODS, sed
from lond.train import Runtime, RuntimeSettings
from lond.train.checkpoint import save_state
from methods.tiny import tiny_samples, tiny_trainer

folder = Path(sys.argv[1])
runtime = Runtime(RuntimeSettings("cpu", devices=2, threads=1))
labels = torch.arange(40) % 3
labels[:15] = (labels[:15] + 1) % 3
sed.PATIENCE = 0  # leave warm-up, however little is known
for name in METHODS:
    trainer = tiny_trainer(tiny_samples(40, labels=labels), name, runtime=runtime, epochs=3)
    history = trainer.run().history
    (folder / f"{name}-{runtime.rank}.json").write_text(json.dumps(history))
    state = {"method": trainer.method.state_dict(), "extra": trainer.method.extra_state()}
    save_state(folder / f"{name}-{runtime.rank}", state)
runtime.barrier()
runtime.close()
"""


def test_two_processes_agree_in_every_method(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(METHODS_SCRIPT)
    run_python("-W", "ignore", str(script), str(tmp_path))
    for name in METHODS:
        states = [load_state(tmp_path / f"{name}-{rank}") for rank in range(2)]
        floats = {key: value for key, value in states[0]["method"].items() if value.is_floating_point()}
        for key, value in floats.items():
            assert torch.allclose(value, states[1]["method"][key], atol=1e-6), f"{name}: {key}"
        assert same_state(states[0]["extra"], states[1]["extra"]), name
        histories = [json.loads((tmp_path / f"{name}-{rank}.json").read_text()) for rank in range(2)]
        for first, second in zip(*histories, strict=True):
            losses = {key: value for key, value in first.items() if "loss" in key}
            assert "loss" in losses
            assert all(math.isfinite(value) for value in losses.values()), name
            # Both log the means over all processes.
            assert losses == {key: value for key, value in second.items() if "loss" in key}, name
        assert [record["phase"] for record in histories[0]] == [record["phase"] for record in histories[1]]
        if name == "sed":
            assert [record["phase"] for record in histories[0]] == ["warm-up", "robust", "robust"]


def test_two_processes_share_gradients_statistics_and_weights(tmp_path: Path) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "run"
    folder.mkdir()
    script.write_text(SCRIPT)
    run_python(str(script), str(folder))
    for rank in range(2):
        facts = json.loads((folder / f"facts{rank}.json").read_text())
        assert facts["processes"] == 2
        assert facts["rows"] == list(range(7))
        assert facts["gradient"] == [1.5, 5.0]
        assert facts["buffers"] == [[0.5, 0.5], 5 + rank]
        assert facts["total"] == [2.0, 1.0]
        assert facts["union"] == ["loss", "a", "b"]
        assert facts["averages"] == {"loss": 2.0, "a": 3.0, "b": 2.5}
        assert facts["records"] == 3
    states = [load_state(folder / f"rank{rank}") for rank in range(2)]
    assert same_state(*states)
    kept = load_state(folder / "checkpoint.safetensors")
    assert same_state(kept["method"], states[0]["method"])
    assert len((folder / "log.jsonl").read_text().splitlines()) == 3


def test_two_processes_from_the_command_line_write_one_run(tmp_path: Path) -> None:
    source, folder = tmp_path / "images.npz", tmp_path / "run"
    write_npz(source)
    settings = (
        "settings.warmup_epochs=1", "settings.identify.neighbours=10", "settings.identify.clean_quantile=1.0",
        "net.width=0.25", "train.batch_size=32",
    )  # fmt: skip
    changes = [part for text in settings for part in ("--set", text)]
    run_python(
        "-m", "lond.cli", "train", str(source), "--epochs", "3", "--devices", "2", "--accelerator", "cpu",
        "--threads", "1", "--out", str(folder), *changes,
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
        "-m", "lond.cli", "train", str(source), "--epochs", "2", "--nodes", "2", "--accelerator", "cpu",
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
