"""The command that writes a trained run for other programs: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lond.cli.runs import RunFolder, chosen_run
from lond.cli.shared import Threads, say


def export(
    folder: RunFolder,
    file: Annotated[
        Path | None, typer.Argument(help="File to write: .onnx, .pt2 (PyTorch) or .safetensors (weights only).")
    ] = None,
    save: Annotated[Path | None, typer.Option("--out", help="The same, as an option.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Score above which an image is foreign; default: the run's own threshold.")
    ] = None,
    text: Annotated[
        bool, typer.Option(help="Also output class names and verdicts as text (ONNX); not every runtime supports text.")
    ] = True,
    threads: Threads = 0,
) -> None:
    """Write a trained run for other programs: classes, probabilities, foreign score, p-value and verdict.

    The export runs on the CPU, whatever device the run was trained on.
    """
    from lond.device import choose_device
    from lond.errors import ConfigError
    from lond.export import export_run
    from lond.progress.work import overall

    if (file is None) == (save is None):
        raise ConfigError("name one file to write, such as model.onnx, behind the run folder or with --out")
    file = file or save
    assert file is not None
    choose_device("cpu", threads)
    folder = chosen_run(folder)
    with overall("export", lines=True):
        said = export_run(folder, file, threshold=threshold, text=text)
    size = ", ".join(map(str, said["input"]["shape"]))
    # With all its digits, or scores compared with it would be called otherwise than by the graph.
    say(f"written to {file}: {len(said['classes'])} classes, threshold {said['threshold']!r}")
    if said["outputs"]:
        say(f"input {said['input']['name']}: {said['input']['dtype']} ({size})")
        for line in said["input"]["preprocessing"].splitlines():
            say(f"  {line}")
        if said["input"]["name"] == "images":
            say("docs/export.md has this preparation as code, and how closely the values agree with lond predict")
        say(f"outputs: {', '.join(said['outputs'])}; foreign score: {said['detector']}")
