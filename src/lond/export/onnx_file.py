"""A graph as an ONNX file."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lond.data.options import optional_import
from lond.export.describe import LABEL, VERDICT
from lond.export.graph import CLASS, FOREIGN, PredictionGraph
from lond.io.atomic import write_atomically
from lond.progress.work import begin_step

TEXTS = [LABEL, VERDICT]
"""Outputs of text, which follow from numbers by a table of names."""

BATCH = "batch"
"""Name of the number of images at a time."""

OPERATORS = "torch.onnx._internal.exporter._registration"
"""Logger that warns of operators of torchvision, which no graph of ours has."""

NEEDS_ONNX = "ONNX files need packages of their own: pip install 'lond[export]'"


def onnx_package() -> Any:
    """Return the package onnx.

    Raises:
        MissingDependencyError: onnx or onnxscript is not installed.
    """
    optional_import("onnxscript", NEEDS_ONNX)
    return optional_import("onnx", NEEDS_ONNX)


def write_onnx(
    program: torch.export.ExportedProgram, graph: PredictionGraph, path: Path, description: dict[str, Any], key: str
) -> None:
    """Write an exported program as one ONNX file.

    Raises:
        MissingDependencyError: onnx or onnxscript is not installed.
    """
    onnx = onnx_package()
    begin_step("converting to ONNX")
    with warnings.catch_warnings(), silenced(OPERATORS):
        # About PyTorch's own use of what it deprecates.
        warnings.simplefilter("ignore")
        converted = torch.onnx.export(
            program.run_decompositions(PRECISE),
            input_names=[graph.takes.name],
            output_names=graph.output_names,
            dynamo=True,
            verbose=False,
        )
    assert converted is not None
    begin_step("checking and writing")
    model = converted.model_proto
    name_batch(model)
    if LABEL in description["outputs"]:
        add_names(onnx, model, CLASS, LABEL, description["classes"])
        add_names(onnx, model, FOREIGN, VERDICT, ["known", "foreign"])
    onnx.helper.set_model_props(model, {key: json.dumps(description)})
    onnx.checker.check_model(model)
    write_atomically(path, lambda place: onnx.save_model(model, place, format="protobuf"))


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Let a logger say nothing but errors meanwhile."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def precise_sigmoid(values: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-x))``, precise also where it is small."""
    return 1 / (1 + torch.exp(-values))


def precise_log_sigmoid(values: Tensor) -> Tensor:
    """Return ``min(x, 0) - log(1 + exp(-|x|))``."""
    return values.clamp(max=0) - torch.log(1 + torch.exp(-values.abs()))


PRECISE: dict[Any, Any] = {
    torch.ops.aten.sigmoid.default: precise_sigmoid,
    torch.ops.aten.log_sigmoid.default: precise_log_sigmoid,
}
"""Operators that are written out: the sigmoids of runtimes round small values, whose order makes the p-values."""


def name_batch(model: Any) -> None:
    """Call the number of images "batch" wherever it stands; PyTorch numbers it."""
    (old,) = {value.type.tensor_type.shape.dim[0].dim_param for value in model.graph.input}
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param == old:
                dimension.dim_param = BATCH


def add_names(onnx: Any, model: Any, source: str, name: str, names: list[str]) -> None:
    """Add an output of text: the entry of ``names`` at the position that the output ``source`` says."""
    made, table, place = onnx.helper, f"{name}_names", f"{name}_place"
    text, whole = onnx.TensorProto.STRING, onnx.TensorProto.INT64
    model.graph.initializer.append(made.make_tensor(table, text, [len(names)], [entry.encode() for entry in names]))
    model.graph.node.append(made.make_node("Cast", [source], [place], to=whole))
    model.graph.node.append(made.make_node("Gather", [table, place], [name], axis=0))
    model.graph.output.append(made.make_tensor_value_info(name, text, [BATCH]))
