"""One choice of device for training, audits and prediction."""

from __future__ import annotations

import pytest
import torch

from lond.device import ACCELERATORS, choose_device
from lond.errors import ConfigError
from lond.train.runtime import Runtime, RuntimeSettings


def machine(monkeypatch: pytest.MonkeyPatch, *, cuda: bool = False, mps: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


def test_a_machine_without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch)
    assert choose_device() == choose_device("cpu") == torch.device("cpu")
    for accelerator in ("gpu", "cuda", "mps"):
        with pytest.raises(ConfigError, match=f"cannot run on '{accelerator}'.*use accelerator 'cpu'"):
            choose_device(accelerator)


def test_a_machine_with_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=True)
    found = {accelerator: choose_device(accelerator).type for accelerator in ACCELERATORS if accelerator != "mps"}
    assert found == {"auto": "cuda", "cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
    machine(monkeypatch, mps=True)
    found = {accelerator: choose_device(accelerator).type for accelerator in ACCELERATORS if accelerator != "cuda"}
    assert found == {"auto": "mps", "cpu": "cpu", "gpu": "mps", "mps": "mps"}


def test_training_runs_where_features_are_computed() -> None:
    assert Runtime(RuntimeSettings()).device.type == choose_device().type
    assert Runtime(RuntimeSettings("cpu")).device == choose_device("cpu")


def test_an_unknown_accelerator_is_refused() -> None:
    with pytest.raises(ConfigError, match="'abacus' is unknown; use one of auto, cpu"):
        choose_device("abacus")


def test_threads_are_set_only_if_asked() -> None:
    before = torch.get_num_threads()
    try:
        choose_device("cpu", threads=3)
        choose_device("cpu")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
