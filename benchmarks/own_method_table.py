"""Write the stored figures of methods and detectors on frozen features into docs/results.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lond.io.atomic import write_atomically
from lond.io.json_files import read_json_lines

PAGE = Path("docs/results.md")
METHODS, DETECTORS = Path("results/own_method.jsonl"), Path("results/detectors_frozen.jsonl")
CELLS = {
    "judge/people50": "human labels",
    "cifar80n-sym20": "Sym-20",
    "cifar80n-sym80": "Sym-80",
    "cifar80n-asym40": "Asym-40",
}
"""Cell -> heading."""


def entry(lines: Sequence[dict[str, Any]]) -> str:
    """Return accuracy / AUROC in percent, means over seeds, with the number of seeds if there are several."""
    if not lines:
        return "-"
    means = (statistics.fmean(line[name] for line in lines) for name in ("accuracy", "auroc"))
    return " / ".join(f"{100 * mean:.1f}" for mean in means) + (f" ({len(lines)})" if len(lines) > 1 else "")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, ["---"] * len(headings), *rows))


def method_table(lines: Sequence[dict[str, Any]]) -> str:
    """Return one row per method, the most accurate on the first cell first."""
    whole = [line for line in lines if not line["ablation"]]
    found = {
        (method, cell): [line for line in whole if (line["method"], line["cell"]) == (method, cell)]
        for method in {line["method"] for line in whole}
        for cell in CELLS
    }

    def rank(method: str) -> tuple[float, str]:
        first = found[method, next(iter(CELLS))]
        return -statistics.fmean(line["accuracy"] for line in first) if first else 1.0, method

    methods = sorted({method for method, _ in found}, key=rank)
    rows = [[f"`{method}`", *(entry(found[method, cell]) for cell in CELLS)] for method in methods]
    return table(["method", *CELLS.values()], rows)


def detector_table(lines: Sequence[dict[str, Any]]) -> str:
    """Return one row per detector and what it was fitted on, by its mean AUROC."""
    by_cell = {line["cell"]: line["detectors"] for line in lines}
    cells = [cell for cell in CELLS if cell in by_cell]
    names = sorted(by_cell[cells[0]], key=lambda name: -statistics.fmean(by_cell[cell][name] for cell in cells))
    rows = []
    for name in names:
        detector, fitted_on = name.removesuffix(")").split(" (")
        rows.append([f"`{detector}`", fitted_on, *(f"{100 * by_cell[cell][name]:.1f}" for cell in cells)])
    return table(["detector", "fitted on", *(CELLS[cell] for cell in cells)], rows)


def filled(page: str, tables: dict[str, str]) -> str:
    """Return a page with the text between each pair of marks replaced."""
    for name, text in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text}\n\n{end}{rest.split(end)[1]}"
    return page


def stored_tables(root: Path = Path()) -> dict[str, str]:
    """Return the tables of what is stored, by the name of their marks."""
    return {
        "own method": method_table(list(read_json_lines(root / METHODS))),
        "detectors on frozen features": detector_table(list(read_json_lines(root / DETECTORS))),
    }


if __name__ == "__main__":
    write_atomically(PAGE, filled(PAGE.read_text(encoding="utf-8"), stored_tables()))
