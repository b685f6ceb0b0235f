"""Every cell of every table and figure of the paper, really trained: one folder of tiny runs for all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lond.paper import EXPERIMENTS

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


# Two epochs may end before any sample is judged clean.
@pytest.mark.filterwarnings("ignore:epoch")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_cell_runs(name: str, folder: Path, lond: Call) -> None:
    code, out, error = lond(
        "reproduce", name, "--scale", "smoke", "--threads", 1, "--accelerator", "cpu", "--out", folder
    )
    assert code == 0, out + error
    target = folder / f"{name}-smoke"
    if name == "figure2":
        assert "there is nothing to run" in out and not target.exists()
        return
    assert not re.search(r"note: (problem|left out|.*no map)", out)
    if name == "figure6":
        assert not list(target.glob("table.*")), "a map has no figures"
    else:
        content = json.loads((target / "table.json").read_text(encoding="utf-8"))
        lines = content["lines"]
        assert all(line["n"] == 1 and 0 <= line["mean"] <= 100 for line in lines)
        places = {(line["row"], line["data"], line["noise"]) for line in lines}
        assert {(cell.row, cell.data, cell.noise) for cell in EXPERIMENTS[name].cells} <= places
    drawn = sorted(path.suffix for path in target.iterdir() if not path.name.startswith("table."))
    assert drawn[:1] + drawn[-1:] == ([] if name == "table5" else [".png", ".svg"])
