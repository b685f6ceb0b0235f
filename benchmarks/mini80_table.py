"""Write the stored figures of mini80 into docs/results.md: ``python -m benchmarks.mini80_table``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.mini80 import AFFECTED, LONGER, NOISES, OUT
from benchmarks.own_method_table import PAGE, filled, table

from lond.io.atomic import write_atomically
from lond.io.json_files import read_json, read_json_lines

BEFORE = {"sym50": Path("results/mini80/compare-sym50"), "asym40": Path("results/mini80/compare-asym40")}
"""Runs of version 0.1.0, by noise."""

Line = dict[str, Any]


def spread(lines: Sequence[Line], name: str) -> str:
    """Return the mean of a figure over seeds in percent, with the standard deviation if there are several."""
    values = [100 * line[name] for line in lines]
    if not values:
        return "-"
    return f"{statistics.fmean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def entry(lines: Sequence[Line]) -> str:
    """Return accuracy / AUROC, and the number of seeds if there are several."""
    if not lines:
        return "-"
    told = f"{spread(lines, 'accuracy')} / {spread(lines, 'auroc')}"
    return told + (f" ({len(lines)})" if len(lines) > 1 else "")


def chosen(lines: Sequence[Line], **wanted: Any) -> list[Line]:
    """Return the lines that have these values."""
    return [line for line in lines if all(line[name] == value for name, value in wanted.items())]


def before(root: Path) -> list[Line]:
    """Return the runs of version 0.1.0 as lines."""
    found = []
    for noise, folder in BEFORE.items():
        for run in sorted((root / folder).glob("*/metrics.json")):
            told = read_json(run)
            figures = {name: told["metrics"][name] for name in ("accuracy", "auroc")}
            found.append({"noise": noise, "method": told["method"], "seed": told["seed"], **figures})
    return found


def methods_table(lines: Sequence[Line], earlier: Sequence[Line]) -> str:
    """Return one row per method, the most accurate first, with its figures in version 0.1.0.

    A method that does what it did then has the figures it had; one that was changed and not trained again has none.
    """
    names = {line["method"] for line in [*chosen(lines, group="methods"), *earlier]}

    def today(method: str, noise: str) -> list[Line]:
        own = chosen(lines, group="methods", method=method, noise=noise)
        return own or ([] if method in AFFECTED else chosen(earlier, method=method, noise=noise))

    def rank(method: str) -> tuple[float, str]:
        found = [line["accuracy"] for noise in NOISES for line in today(method, noise)]
        return -statistics.fmean(found) if found else 1.0, method

    rows = []
    for method in sorted(names, key=rank):
        cells = []
        for noise in NOISES:
            again = bool(chosen(lines, group="methods", method=method, noise=noise))
            first = entry(chosen(earlier, method=method, noise=noise)) if again or method in AFFECTED else "as today"
            cells += [entry(today(method, noise)), first]
        rows.append([f"`{method}`", *cells])
    return table(["method", "Sym-50", "in 0.1.0", "Asym-40", "in 0.1.0"], rows)


def details_table(lines: Sequence[Line]) -> str:
    """Return LOND-DRS by our choices and by those of the released program, over the same seeds."""
    rows = []
    for title, wanted in (
        ("ours", {"group": "methods", "label": ""}),
        ("released program", {"group": "details", "label": "released"}),
    ):
        found = [line for line in chosen(lines, method="lond-drs", **wanted) if line["seed"] in (0, 1)]
        rows.append([title, *(_cell(chosen(found, noise=noise)) for noise in NOISES)])
    return table(["where the paper is silent", "Sym-50", "Asym-40"], rows)


def _cell(lines: Sequence[Line]) -> str:
    if not lines:
        return "-"
    return f"{entry(lines)}; corrected labels right {spread(lines, 'corrected_accuracy')}"


def savings_table(lines: Sequence[Line]) -> str:
    """Return LOND-DRS, its fast variant and cross-fit, each followed by runs that save more, single savings first."""
    rows = []
    for method in ("lond-drs", "lond-drs-fast", "cross-fit"):
        runs = {f"`{method}`": chosen(lines, group="methods", method=method)}
        more = chosen(lines, group="savings", method=method)
        for line in sorted(more, key=lambda line: len(line["changes"])):
            runs.setdefault(f"`{method}`, {_savings(line)}", []).append(line)
        rows += [[name, *(entry(chosen(own, noise=noise)) for noise in NOISES)] for name, own in runs.items()]
    return table(["method and what it saves besides", "Sym-50", "Asym-40"], rows)


def _savings(line: Line) -> str:
    """Return the changed savings of a run: names of switches, numbers with their value."""
    named = ((key.rpartition(".")[2], value) for key, value in line["changes"].items())
    return ", ".join(f"`{name}`" if value == "true" else f"`{name}={value}`" for name, value in named)


def long_table(lines: Sequence[Line]) -> str:
    """Return the runs of 120 epochs: best epoch and end of accuracy, and the end of AUROC.

    Where no run has rates and ramps of its length, one with those of 30 epochs is shown, with a star.
    """
    plans = {"": chosen(lines, group="long"), " *": chosen(lines, group="long, short plan")}
    rows = []
    for method in [name for name in LONGER if any(line["method"] == name for of in plans.values() for line in of)]:
        cells = []
        for noise in NOISES:
            found = {mark: chosen(of, method=method, noise=noise) for mark, of in plans.items()}
            cells.append(next((_with_peak(own) + mark for mark, own in found.items() if own), "-"))
        rows.append([f"`{method}`", *cells])
    return table(["method, 120 epochs", "Sym-50", "Asym-40"], rows)


def _with_peak(lines: Sequence[Line]) -> str:
    best = 100 * statistics.fmean(max(line["curves"]["accuracy"]) for line in lines)
    return f"{entry(lines)}, peak {best:.1f}"


def stored_tables(root: Path = Path()) -> dict[str, str]:
    """Return the tables of what is stored, by the name of their marks."""
    lines = list(read_json_lines(root / OUT))
    makers: dict[str, Callable[[Sequence[Line]], str]] = {
        "mini80 details": details_table,
        "mini80 savings": savings_table,
        **({"mini80 long": long_table} if chosen(lines, group="long") else {}),
    }
    return {"mini80 methods": methods_table(lines, before(root))} | {n: make(lines) for n, make in makers.items()}


if __name__ == "__main__":
    write_atomically(PAGE, filled(PAGE.read_text(encoding="utf-8"), stored_tables()))
