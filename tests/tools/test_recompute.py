from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Call
from tools.recompute import CELLS, STORE, command, report

from lond.results import read


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell[2][0])
def test_each_cell_is_stored(cell: tuple[str, str, tuple[str, ...]], tmp_path: Path, lond: Call) -> None:
    words = command(*cell, Namespace(root=tmp_path, out=tmp_path))[3:]
    words[words.index("--store") + 1] = str(STORE)
    code, shown, problem = lond(*words, "--dry-run")
    assert code == 0, problem
    assert " 0 to train" in shown


def test_what_differs_is_told() -> None:
    first, second, *_ = read(STORE)
    changed = replace(first, metrics={**first.metrics, "accuracy": 0.5})
    same, other, missing = report([first], [first, changed, second])
    assert same.endswith("same identity, same figures")
    assert f"accuracy {first.metrics['accuracy']} -> 0.5" in other
    assert missing.endswith("no stored result has this identity")
