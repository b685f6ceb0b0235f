"""The command that compares detectors: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lond.cli.runs import RunFolder, chosen_run
from lond.cli.shared import Accelerator, Threads, known_names, out
from lond.errors import ConfigError


def detect(
    folder: RunFolder,
    known: Annotated[str, typer.Option(help="Images of known classes; default: the run's own test set.")] = "",
    foreign: Annotated[str, typer.Option(help="Foreign images.")] = "",
    save: Annotated[Path | None, typer.Option("--out", help="Output folder for table and figures.")] = None,
    root: Annotated[str, typer.Option(help="Folder with the benchmark's files.")] = "",
    only: Annotated[str, typer.Option(help="Detectors, separated by commas, e.g. own,knn,mds; default: all.")] = "",
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Compare all detectors on a trained run: table, score histograms and ROC curves; * marks the one in use."""
    from rich.markup import escape
    from rich.table import Table

    from lond.detect import ALL_DETECTORS
    from lond.runs.detection import detect_run
    from lond.runs.run_detector import OWN
    from lond.train.runtime import RuntimeSettings

    if bool(known) != bool(foreign):
        raise ConfigError("give both --known and --foreign, or neither (the run's own test set)")
    folder = chosen_run(folder)
    target = save or folder / "detect"
    runtime = RuntimeSettings(accelerator, threads=threads)
    results = detect_run(folder, known, foreign, root, known_names(only, [OWN, *ALL_DETECTORS]), target, runtime)
    table = Table("detector", "fitted on", "AUROC", "FPR95", "AUPR known", "AUPR foreign", "seconds")
    for result in results:
        shares = [result.figures[name] for name in ("auroc", "fpr95", "aupr_known", "aupr_foreign")]
        cells = [f"{100 * share:.2f}" for share in shares]
        name = f"{result.name} *" if result.used else result.name
        table.add_row(name, result.fitted_on, *cells, f"{result.seconds:.2f}")
    out.print(table)
    if any(result.used for result in results):
        out.print("* the score that lond predict uses; choose another with lond calibrate --detector NAME")
    for result in results:
        if result.problem:
            out.print(f"{result.name}: {escape(result.problem)}", soft_wrap=True)
    out.print(f"table and figures: {target}", markup=False, soft_wrap=True)
