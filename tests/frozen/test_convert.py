"""Networks converted to OpenVINO: the same values, converted once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import lond.frozen.convert as module
from lond.frozen.convert import compile_openvino, own_folder

pytest.importorskip("openvino")


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5)).eval()


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    real = module._converted

    def counted(network: nn.Module, size: int) -> object:
        calls.append(1)
        return real(network, size)

    monkeypatch.setattr(module, "_converted", counted)
    return calls


def test_a_network_is_converted_once(network: nn.Module, tmp_path: Path, conversions: list[int]) -> None:
    image = torch.rand(1, 3, 8, 8)
    first, second = (compile_openvino(network, 8, tmp_path) for _ in range(2))
    assert len(conversions) == 1
    values = [compiled([image.numpy()])[0] for compiled in (first, second)]
    assert (values[0] == values[1]).all()
    assert torch.allclose(torch.from_numpy(values[0]), network(image).detach(), atol=1e-5)
    assert [path.suffix for path in (tmp_path / "converted").iterdir()] == [".safetensors"]


def test_without_a_folder_the_users_own_is_taken(
    network: nn.Module, tmp_path: Path, conversions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOND_CACHE", str(tmp_path / "own"))
    compile_openvino(network, 8)
    compile_openvino(network, 8)
    assert len(conversions) == 1 and len(list((tmp_path / "own" / "converted").iterdir())) == 1
    (tmp_path / "file").touch()
    monkeypatch.setenv("LOND_CACHE", str(tmp_path / "file"))
    compile_openvino(network, 8)
    assert len(conversions) == 2
    with pytest.raises(NotADirectoryError):
        compile_openvino(network, 8, tmp_path / "file")


def test_the_users_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert own_folder() == tmp_path / "lond"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert own_folder() == Path.home() / ".cache" / "lond"


def test_streams_follow_the_threads(network: nn.Module, tmp_path: Path) -> None:
    for threads in (1, 2):
        compiled = compile_openvino(network, 8, tmp_path, threads=threads)
        assert compiled.get_property("NUM_STREAMS") == threads
        assert compiled.get_property("INFERENCE_NUM_THREADS") == threads


def test_other_weights_are_another_network(network: nn.Module, tmp_path: Path, conversions: list[int]) -> None:
    compile_openvino(network, 8, tmp_path)
    next(network.parameters()).data += 1
    compile_openvino(network, 8, tmp_path)
    assert len(conversions) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_file_is_converted_again(
    network: nn.Module, tmp_path: Path, conversions: list[int], damage: str
) -> None:
    compile_openvino(network, 8, tmp_path)
    (path,) = (tmp_path / "converted").iterdir()
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes({"cut": content[:100], "changed": content, "empty": b""}[damage])
    compile_openvino(network, 8, tmp_path)
    compile_openvino(network, 8, tmp_path)
    assert len(conversions) == 2


LIFETIMES = """
import faulthandler, os, signal, sys
faulthandler.enable()  # gives signal handlers a stack of their own, as pytest does
from torch import nn
from lond.frozen.convert import compile_openvino
network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 2)).eval()
first = compile_openvino(network, 4)
second = compile_openvino(network, 4)
del first
del second
signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
os.kill(os.getpid(), signal.SIGUSR1)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs POSIX")
def test_signals_are_handled_after_networks_went_in_the_order_they_came() -> None:
    done = subprocess.run([sys.executable, "-c", LIFETIMES], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "handled\n"), done.stderr
