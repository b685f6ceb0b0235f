"""Write docs/noise-bench.md from the stored lines only.

python -m benchmarks.noise_bench.report --lines results/noise_bench/cells.jsonl --out docs/noise-bench.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.noise_bench.specs import SEEDS
from benchmarks.noise_bench.targets import (
    ASKED_FALSE_ALARMS,
    FALSE_ALARM_ERROR,
    Cells,
    Line,
    expected_right,
    target_table,
)

from lond.io.atomic import write_atomically
from lond.io.json_files import read_json_lines

WORDS, MARK = Path(__file__).with_name("page.md"), "<!-- tables -->\n"
"""The words of the page, and where the tables go among them."""

ORDER = ("audit", "audit-0.1", "cleanlab", "simifeat", "selfclean", "neighbours", "distance", "out-of-fold")

CONFIDENCES = (
    "Suggested labels of all cells together, by confidence and kind of noise: share that is right / mean confidence"
    " (number), in percent.\n"
)

RANKING = {
    "wrong: AUROC": "wrong_auroc",
    "F1": "wrong_f1",
    "precision": "wrong_precision",
    "recall": "wrong_recall",
    "AUROC, known": "wrong_auroc_known",
    "F1, known": "wrong_f1_known",
    "foreign: AUROC": "foreign_auroc",
    "AP": "foreign_ap",
    "F1 ": "foreign_f1",
    "precision ": "foreign_precision",
    "recall ": "foreign_recall",
}
"""Heading -> column; a blank at the end tells two headings of the same word apart."""


def by_cell(lines: Iterable[Line]) -> Cells:
    """Return the lines by cell and contender, in the order in which they were stored."""
    found: Cells = {}
    for line in lines:
        found.setdefault((line["part"], line["cell"], line["seed"]), {})[line["contender"]] = line
    return found


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is there."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def percent(value: float | None) -> str:
    """Return a share as percent with one digit, "-" for none."""
    return "-" if value is None else f"{100 * value:.1f}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def ranking_table(cells: Cells) -> str:
    """Return the mean of every ranking figure by contender, over the cells that have it."""
    rows = []
    for who in ORDER:
        lines = [cell[who] for cell in cells.values() if who in cell]
        if lines:
            rows.append([who, *(percent(mean(line.get(column) for line in lines)) for column in RANKING.values())])
    return table(["", *(name.strip() for name in RANKING)], rows)


def each_cell_table(cells: Cells, column: str) -> str:
    """Return one figure by cell and contender."""
    names = [who for who in ORDER if any(column in cell.get(who, {}) for cell in cells.values())]
    return table(
        ["cell", "images", *names],
        [
            [key[1], f"{_any(cell)['images']:,}", *(percent(cell.get(who, {}).get(column)) for who in names)]
            for key, cell in cells.items()
            if any(cell.get(who, {}).get(column) is not None for who in names)
        ],
    )


def rate_table(cells: Cells) -> str:
    """Return estimated rates with their intervals beside the truth, for those who estimate any."""

    def shown(line: Line, kind: str) -> str:
        rate = line.get(f"rate_{kind}")
        if rate is None:
            return "-"
        mark = "" if line[f"rate_{kind}_holds"] else " (misses)"
        return f"{percent(rate[0])} [{percent(rate[1])}, {percent(rate[2])}]{mark}"

    names = ("audit", "audit-0.1")
    rows = []
    for (_, name, _), cell in cells.items():
        if not any("rate_wrong" in cell.get(who, {}) for who in names):
            continue
        truth = _any(cell)
        told = [shown(cell.get(who, {}), kind) for kind in ("wrong", "foreign") for who in names]
        rows.append([name, percent(truth["wrong"]), *told[:2], percent(truth["foreign"]), *told[2:]])
    return table(["cell", "wrong", *names, "foreign", *names], rows)


def use_table(cells: Cells) -> str:
    """Return, by contender, means on test images and of the corrected set over the cells that have them."""
    names = ("test_accuracy", "test_auroc", "false_alarms", "probe_given", "probe_corrected", "probe_true")
    rows = []
    for who in ORDER:
        lines = [cell[who] for cell in cells.values() if who in cell]
        if any("probe_given" in line for line in lines):
            rows.append([who, *(percent(mean(line.get(name) for line in lines)) for name in names)])
    headings = ("accuracy", "AUROC", "false alarms", "probe: given labels", "corrected set", "true labels")
    return table(["", *headings], rows)


def confidence_table(cells: Cells, who: str = "audit") -> str:
    """Return how often suggestions are right, and how often their confidences say so, by class and kind of noise."""
    names = {"50-70": ".5-.7", "70-90": ".7-.9", "90-100": "above .9"}
    lines = [cell[who] for cell in cells.values() if who in cell]
    families = {line["family"].rstrip("0123456789"): None for line in lines}
    rows = []
    for title, of in [("all", lines), *((name, _of_family(lines, name)) for name in families)]:
        entries = [_pooled(line.get(f"confidence_{name}", (0, 0, 0)) for line in of) for name in names]
        if any(entry != "-" for entry in entries):
            rows.append([title, *entries])
    return table(["noise", *names.values()], rows)


def _of_family(lines: Sequence[Line], name: str) -> list[Line]:
    return [line for line in lines if line["family"].rstrip("0123456789") == name]


def _pooled(parts: Iterable[Sequence[float]]) -> str:
    """Return "right / said (number)" of suggestions in parts of (number, share right, mean confidence)."""
    known = [part for part in parts if part[0]]
    number = int(sum(part[0] for part in known))
    right, said = (sum(part[0] * part[place] for part in known) / max(1, number) for place in (1, 2))
    return f"{percent(right)} / {percent(said)} ({number:,})" if number else "-"


def _any(cell: dict[str, Line]) -> Line:
    return next(iter(cell.values()))


def only(cells: Cells, keep: Callable[[tuple[str, str, int], dict[str, Line]], bool]) -> Cells:
    """Return some of the cells."""
    return {key: cell for key, cell in cells.items() if keep(key, cell)}


def page(lines: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    cells = by_cell(lines)
    judge, tune = only(cells, lambda key, _: key[0] == "judge"), only(cells, lambda key, _: key[0] == "tune")
    together = only(judge, lambda _, cell: all(who in cell for who in ORDER))
    people = only(judge, lambda _, cell: _any(cell)["source"] == "people")
    parts = [
        f"The file holds {len(judge)} JUDGE and {len(tune)} TUNE cells, seed {SEEDS['judge']} and {SEEDS['tune']}.\n"
    ]
    sections = (
        (f"JUDGE, side by side: {len(together)} cells that every contender has seen", together, True),
        (f"JUDGE, all {len(judge)} cells (the audit of version 0.1: {len(together)})", judge, False),
        (f"JUDGE, human labels only: {len(people)} cells", people, False),
        (f"TUNE: {len(tune)} cells of the part that the network was fitted on", tune, False),
    )
    for title, chosen, detailed in sections:
        if not chosen:
            continue
        parts += [f"## {title}\n", "Means in percent.\n", ranking_table(chosen)]
        if detailed:
            for name, column in (
                ("AUROC for wrong labels, all images", "wrong_auroc"),
                ("F1 for wrong labels, all images", "wrong_f1"),
                ("AUROC for foreign images", "foreign_auroc"),
                ("Share of images doubted", "doubted"),
            ):
                parts += [f"### {name}\n", each_cell_table(chosen, column)]
            parts += ["### Estimated rates, percent\n", rate_table(chosen)]
            parts += ["### Test images and corrected set\n", use_table(chosen)]
        if chosen is judge or chosen is tune:
            parts += ["### Confidences\n", CONFIDENCES, confidence_table(chosen)]
        parts += ["### Targets\n", target_table(chosen)]
    return WORDS.read_text().replace(MARK, "\n".join(parts)) + limits(judge)


def limits(judge: Cells) -> str:
    """Return what small numbers leave possible, and on which side false alarms miss."""
    exact = " and ".join(f"{expected_right(judge, 'audit', name):.1f}" for name in ("50-70", "70-90"))
    alarms = [cell["audit"]["false_alarms"] for cell in judge.values() if "false_alarms" in cell.get("audit", {})]
    few = sum(rate < ASKED_FALSE_ALARMS - FALSE_ALARM_ERROR for rate in alarms)
    many = sum(rate > ASKED_FALSE_ALARMS + FALSE_ALARM_ERROR for rate in alarms)
    return (
        f"Even exact confidences would keep within ten points only in {exact} of the JUDGE cells"
        " (.5-.7 and .7-.9), because a cell has few suggestions.\n"
        f"Where false alarms miss their rate, there are fewer in {few} JUDGE cells and more in {many}.\n"
    )


def main() -> None:
    """Read the options and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=Path, default=Path("results/noise_bench/cells.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/noise-bench.md"))
    options = parser.parse_args()
    write_atomically(options.out, page(read_json_lines(options.lines)))


if __name__ == "__main__":
    main()
