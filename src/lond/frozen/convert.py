"""Networks converted to OpenVINO, kept in a folder: conversion takes seconds, reading the result does not."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import nn

from lond.errors import MissingDependencyError
from lond.io.atomic import write_atomically

FOLDER = "converted"
"""Where converted networks lie in the folder of computed features."""


def compile_openvino(module: nn.Module, size: int, folder: Path | None = None) -> Any:
    """Return a network that OpenVINO runs on the CPU, converted or as kept in ``folder``.

    Args:
        module: takes float images ``(B, 3, size, size)``.
        size: side of the images.
        folder: where converted networks are kept; None keeps none.

    Raises:
        MissingDependencyError: OpenVINO is not installed.
    """
    try:
        import openvino
    except ImportError as error:
        raise MissingDependencyError(
            "the route openvino needs its package: pip install 'lond[audit]', or choose the route torch"
        ) from error
    core = _core()
    path = None if folder is None else folder / FOLDER / f"{_key(module, size, openvino.__version__)}.safetensors"
    model = None if path is None else _read(path, core)
    if model is None:
        with warnings.catch_warnings():
            # The tracer warns that sizes become constants; they are.
            warnings.simplefilter("ignore")
            model = openvino.convert_model(module, example_input=torch.zeros(2, 3, size, size))
        if path is not None:
            _write(path, model, openvino)
    hints = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    return core.compile_model(model, "CPU", hints)


@cache
def _core() -> Any:
    """Return the one core of this process, which lives as long as the process does.

    Every core gives the thread a new stack for signal handlers and puts the former one back when it goes. Of two that
    go in the order they came, the second puts back the stack that the first has freed, and the next signal that is
    handled, such as the end of a child process, ends the process without a word.
    """
    import openvino

    return openvino.Core()


def _key(module: nn.Module, size: int, version: str) -> str:
    """Return a text that changes whenever the converted network would."""
    digest = hashlib.sha256(f"{version} {torch.__version__} {size} {module}".encode())
    for name, tensor in module.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _write(path: Path, model: Any, openvino: Any) -> None:
    """Keep description and weights in one file, so that they cannot be of two conversions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as passing:
        described = Path(passing) / "network.xml"
        openvino.save_model(model, described, compress_to_fp16=False)
        parts = {part: described.with_suffix(f".{part}").read_bytes() for part in ("xml", "bin")}
    tensors = {part: np.frombuffer(content, dtype=np.uint8) for part, content in parts.items()}
    tensors["digest"] = np.frombuffer(_digest(parts["xml"], parts["bin"]), dtype=np.uint8)
    write_atomically(path, lambda place: save_file(tensors, place))


def _read(path: Path, core: Any) -> Any | None:
    """Return a kept network; None if there is none or its file is damaged."""
    try:
        stored = {name: values.tobytes() for name, values in load_file(path).items()}
        if _digest(stored["xml"], stored["bin"]) != stored["digest"]:
            return None
        return core.read_model(stored["xml"], stored["bin"])
    except (OSError, SafetensorError, KeyError, RuntimeError):
        return None


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()
