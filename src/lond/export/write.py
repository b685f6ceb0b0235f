"""Files that other programs read a trained run from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from lond.errors import ConfigError
from lond.export.describe import describe
from lond.export.graph import PredictionGraph
from lond.export.onnx_file import TEXTS, onnx_package, write_onnx
from lond.io.atomic import write_atomically
from lond.progress.work import announce_steps, begin_step
from lond.runs import LoadedRun, load_run

Write = Callable[[PredictionGraph, Path, dict[str, Any]], None]
"""Writes a graph and its description to a file."""

KEY = "lond"
"""Name of the description in a file."""


def export_run(
    run: LoadedRun | Path | str, path: Path | str, *, threshold: float | None = None, text: bool = True
) -> dict[str, Any]:
    """Export a trained run, in the format given by the file extension, and return its description.

    Args:
        run: a trained run, or its folder.
        path: a file that ends in one of ``FORMATS``.
        threshold: the score above which an image is foreign; the run's own if left out.
        text: give class names and verdicts as text, too; for ONNX only, since not every runtime knows text.

    Raises:
        ConfigError: the ending is unknown.
        DataError: the folder holds no trained run, or there is no threshold.
        MissingDependencyError: ONNX is not installed.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> _ = export_run("run", "weights.safetensors")
        >>> Path("weights.safetensors").is_file()
        True
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} must end in one of {', '.join(FORMATS)}, which says what is written")
    if path.suffix == ".onnx":
        onnx_package()  # Before any work that would be lost without it.
    announce_steps(STEPS[path.suffix])
    begin_step("reading the run")
    run = run if isinstance(run, LoadedRun) else load_run(run)
    graph = PredictionGraph(run, threshold)
    outputs = [] if path.suffix == ".safetensors" else graph.output_names
    description = describe(run, graph, outputs + (TEXTS if text and path.suffix == ".onnx" else []))
    path.parent.mkdir(parents=True, exist_ok=True)
    FORMATS[path.suffix](graph, path, description)
    return description


def exported_program(graph: PredictionGraph) -> torch.export.ExportedProgram:
    """Return the graph as ``torch.export`` sees it, for any number of images at a time."""
    begin_step("tracing the network")
    batch = torch.export.Dim("batch", min=1)
    with torch.no_grad():
        return torch.export.export(graph, (graph.takes.example(),), dynamic_shapes=({0: batch},))


def write_program(graph: PredictionGraph, path: Path, description: dict[str, Any]) -> None:
    """Write the graph for ``torch.export.load``, with its description in the extra file "lond"."""
    program = exported_program(graph)
    begin_step("writing")

    def save(place: Path) -> None:
        # By its handle, as PyTorch warns about names that do not end in .pt2.
        with open(place, "wb") as file:
            torch.export.save(program, file, extra_files={KEY: json.dumps(description)})

    write_atomically(path, save)


def write_weights(graph: PredictionGraph, path: Path, description: dict[str, Any]) -> None:
    """Write parameters and buffers by their names in the method, with the description in the header."""
    begin_step("writing")
    tensors = {name: tensor.contiguous().clone() for name, tensor in graph.method.state_dict().items()}
    metadata = {"format": "pt", KEY: json.dumps(description)}
    write_atomically(path, lambda place: save_file(tensors, place, metadata=metadata))


def write_onnx_file(graph: PredictionGraph, path: Path, description: dict[str, Any]) -> None:
    """Write the graph as ONNX, with its description in the metadata."""
    write_onnx(exported_program(graph), graph, path, description, KEY)


FORMATS: dict[str, Write] = {".onnx": write_onnx_file, ".pt2": write_program, ".safetensors": write_weights}
"""Ending of a file -> how it is written: a graph for ONNX runtimes, a program for PyTorch, weights by name."""

STEPS = {".onnx": 4, ".pt2": 3, ".safetensors": 2}
"""Ending of a file -> steps that are told while it is written."""
