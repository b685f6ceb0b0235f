"""Every method, switch, detector and figure of the paper, really trained: one folder of tiny runs for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lond.paper import EXPERIMENTS, all_cells, experiment
from lond.reproduce.filters import chosen_cells

Call = Callable[..., tuple[int, str, str]]

ASKED: dict[str, tuple[str, ...]] = {
    "table1": ("sym80",),
    "table2": ("sym80",),
    "table3": ("web-bird", "disc", "jo-src", "unicon"),
    "table4": ("sym80",),
    "table5": (),
    "table6": ("sym80",),
    "table7": ("tinyimagenet",),
    "table8": ("tinyimagenet",),
    "figure1": (),
    "figure2": (),
    "figure3": ("sym80",),
    "figure4": ("sym80",),
    "figure5": (),
    "figure6": ("LOND*",),
}
"""Cells that are run: every combination of method, switches and detector once; the others differ in data or noise."""


def combinations(cells: object) -> set[tuple[str, str, str]]:
    def switches(cell: object) -> str:
        return json.dumps({key: value for key, value in cell.overrides.items() if ".open_" not in key})

    return {(cell.method, switches(cell), cell.detector) for cell in cells}


def test_nothing_is_left_untried() -> None:
    assert ASKED.keys() == EXPERIMENTS.keys()
    run = [cell for name, patterns in ASKED.items() for cell in chosen_cells(experiment(name).cells, patterns)]
    assert combinations(run) == combinations(all_cells())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


# Two epochs may end before any sample is judged clean.
@pytest.mark.filterwarnings("ignore:epoch")
@pytest.mark.parametrize("name", ASKED)
def test_every_experiment_runs(name: str, folder: Path, lond: Call) -> None:
    patterns = [word for pattern in ASKED[name] for word in ("--cells", pattern)]
    code, out, error = lond(
        "reproduce", name, *patterns, "--scale", "smoke", "--threads", 1, "--accelerator", "cpu", "--out", folder
    )
    assert code == 0, out + error
    target = folder / f"{name}-smoke"
    if name == "figure2":
        assert "there is nothing to run" in out and not target.exists()
        return
    content = json.loads((target / "table.json").read_text(encoding="utf-8"))
    assert all(line["n"] == 1 and 0 <= line["mean"] <= 100 for line in content["lines"])
    assert not any(note.startswith(("failed", "left out")) for note in content["notes"])
    drawn = sorted(path.suffix for path in target.iterdir() if not path.name.startswith("table."))
    assert drawn[:1] + drawn[-1:] == ([] if name == "table5" else [".png", ".svg"])
