"""Networks compiled by OpenVINO and kept in a folder: conversion takes seconds, reading the result does not."""

from __future__ import annotations

import hashlib
import os
import warnings
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import nn

from lond.errors import MissingDependencyError
from lond.frozen.quantise import quantised
from lond.io.atomic import write_atomically

FOLDER = "converted"
"""Where compiled networks lie in the folder of computed features."""


def own_folder() -> Path:
    """Return the default folder of compiled networks: LOND_CACHE, or the user's cache folder."""
    chosen = os.environ.get("LOND_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "lond"


def compile_openvino(
    module: nn.Module, size: int, folder: Path | None = None, *, precision: str = "full", threads: int = 0
) -> Any:
    """Return a network that OpenVINO runs on the CPU, one image at a time in as many streams as there are threads.

    One image fits into a core's own memory and a batch does not, so streams of single images are faster than batches.

    Args:
        module: takes float images ``(B, 3, size, size)``.
        size: side of the images.
        folder: where compiled networks are kept; None = ``own_folder()``, if it can be written.
        precision: "full" or "int8".
        threads: of OpenVINO; 0 = those of PyTorch.

    Raises:
        MissingDependencyError: OpenVINO is not installed, or NNCF for "int8".
    """
    try:
        import openvino
    except ImportError as error:
        raise MissingDependencyError(
            "the route openvino needs its package: pip install 'lond[audit]', or choose the route torch"
        ) from error
    core, threads = _core(), threads or torch.get_num_threads()
    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    place = (own_folder() if folder is None else folder) / FOLDER
    path = place / f"{_key(module, size, precision, openvino.__version__)}.safetensors"
    compiled = _read(path, core, hints)
    if compiled is None:
        model = _converted(module, size)
        compiled = core.compile_model(quantised(model, size) if precision == "int8" else model, "CPU", hints)
        # Nobody asked for the user's own folder, so it need not be writable.
        with suppress(OSError) if folder is None else nullcontext():
            _write(path, compiled)
    return compiled


def _converted(module: nn.Module, size: int) -> Any:
    """Return an OpenVINO model for one image.

    OpenVINO's ``convert_model`` does the same, but reports its use to its makers, in a process that it forks.
    """
    from openvino import PartialShape, Type
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    example = torch.zeros(1, 3, size, size)
    with warnings.catch_warnings(), torch.no_grad():
        # The tracer warns that sizes become constants; they are.
        warnings.simplefilter("ignore")
        traced = torch.jit.freeze(torch.jit.trace(module.eval(), example, check_trace=False))
        decoder = TorchScriptPythonDecoder(traced)
    frontend = FrontEndManager().load_by_framework("pytorch")
    read = frontend.load(decoder)
    (place,) = read.get_inputs()
    read.set_partial_shape(place, PartialShape(list(example.shape)))
    read.set_element_type(place, Type.f32)
    return frontend.convert(read)


@cache
def _core() -> Any:
    """Return the one core of this process, which lives as long as the process does.

    Every core gives the thread a new stack for signal handlers and puts the former one back when it goes. Of two that
    go in the order they came, the second puts back the stack that the first has freed, and the next signal that is
    handled, such as the end of a child process, ends the process without a word.
    """
    import openvino

    return openvino.Core()


def _key(module: nn.Module, size: int, precision: str, version: str) -> str:
    """Return a text that changes whenever the compiled network would; it is compiled for one kind of processor."""
    processor = [_core().get_property("CPU", name) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
    described = f"compiled {version} {torch.__version__} {processor} {size} {precision} {module}"
    digest = hashlib.sha256(described.encode())
    for name, tensor in module.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _write(path: Path, compiled: Any) -> None:
    """Keep a compiled network with the digest of its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    network = compiled.export_model().getvalue()
    tensors = {"network": np.frombuffer(network, dtype=np.uint8)}
    tensors["digest"] = np.frombuffer(hashlib.sha256(network).digest(), dtype=np.uint8)
    write_atomically(path, lambda place: save_file(tensors, place))


def _read(path: Path, core: Any, hints: dict[str, Any]) -> Any | None:
    """Return a kept network; None if there is none or its file is damaged."""
    try:
        stored = {name: values.tobytes() for name, values in load_file(path).items()}
        if hashlib.sha256(stored["network"]).digest() != stored["digest"]:
            return None
        return core.import_model(stored["network"], "CPU", hints)
    except (OSError, SafetensorError, KeyError, RuntimeError):
        return None
