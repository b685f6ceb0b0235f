"""Figures: written in both formats, the same every time, whatever the scores are like."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lond.errors import MissingDependencyError
from lond.evaluate import auroc
from lond.plots import import_pyplot
from lond.runs.detection import DetectorResult
from lond.runs.detection_figures import bin_edges, draw_histograms, draw_roc, title_of

FOREIGN = torch.arange(60) >= 40


def result(scores: Tensor, name: str = "msp", fitted_on: str = "-") -> DetectorResult:
    return DetectorResult(name, fitted_on, {"auroc": auroc(scores, FOREIGN)}, 0.1, scores)


def results(count: int) -> list[DetectorResult]:
    random = torch.Generator().manual_seed(0)
    return [result(torch.randn(60, generator=random) + FOREIGN, f"name{i}", "clean") for i in range(count)]


@pytest.mark.parametrize("draw", [draw_histograms, draw_roc])
@pytest.mark.parametrize("count", [1, 5])
def test_both_formats_are_written(draw, count: int, tmp_path: Path) -> None:
    paths = draw(results(count), FOREIGN, tmp_path / "figure")
    assert paths == [tmp_path / "figure.png", tmp_path / "figure.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG\r\n")
    assert paths[0].stat().st_size > 2000
    svg = paths[1].read_text(encoding="utf-8")
    assert "<svg" in svg
    assert svg.rstrip().endswith("</svg>")
    assert import_pyplot().get_fignums() == []


@pytest.mark.parametrize("draw", [draw_histograms, draw_roc])
def test_the_same_results_give_the_same_file(draw, tmp_path: Path) -> None:
    first = draw(results(3), FOREIGN, tmp_path / "first")
    second = draw(results(3), FOREIGN, tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    other = draw(results(2), FOREIGN, tmp_path / "other")
    assert first[1].read_bytes() != other[1].read_bytes()


@pytest.mark.parametrize(
    "scores",
    [
        torch.zeros(60),
        torch.full((60,), 7.5),
        torch.full((60,), -1e9),
        torch.ones(60, dtype=torch.float64) - 1.2e-16 * (torch.arange(60) % 2),
        torch.zeros(60, dtype=torch.float64) + 5e-324 * (torch.arange(60) % 2),
        torch.cat([torch.zeros(59), torch.tensor([1e30])]),
        torch.arange(60),
    ],
    ids=["zero", "equal", "large", "rounding", "denormal", "outlier", "whole numbers"],
)
def test_awkward_scores_can_be_drawn(scores: Tensor, tmp_path: Path) -> None:
    for draw in (draw_histograms, draw_roc):
        assert all(path.stat().st_size for path in draw([result(scores)], FOREIGN, tmp_path / draw.__name__))
    edges = bin_edges(scores)
    assert len(edges) == 41
    assert edges[0] <= float(scores.min()) <= float(scores.max()) <= edges[-1]
    assert all(a < b for a, b in pairwise(edges))


def test_known_and_foreign_share_their_bins() -> None:
    scores = torch.cat([torch.linspace(0, 1, 40), torch.linspace(3, 4, 20)])
    edges = bin_edges(scores)
    assert edges == pytest.approx([index / 10 for index in range(41)])


def test_titles() -> None:
    assert title_of(result(torch.rand(60))) == "msp"
    assert title_of(result(torch.rand(60), "knn", "all")) == "knn (all)"


def test_missing_matplotlib_names_the_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (draw_histograms, draw_roc):
        with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[plots\]'"):
            draw(results(1), FOREIGN, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []
