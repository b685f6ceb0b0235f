"""Figures: written in both formats, the same every time, whatever the scores are like."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import lond.plots
from lond.errors import MissingDependencyError
from lond.evaluate import auroc
from lond.plots import BLACK, bin_edges, draw_curves, draw_histograms, draw_roc, import_pyplot, line_colours, title_of
from lond.results import Record, Seeds
from lond.runs.detection import DetectorResult

FOREIGN = torch.arange(60) >= 40


def result(scores: Tensor, name: str = "msp", fitted_on: str = "-") -> DetectorResult:
    return DetectorResult(name, fitted_on, {"auroc": auroc(scores, FOREIGN)}, 0.1, scores)


def record_with(curves: dict[str, tuple[float | None, ...]]) -> Record:
    return Record("0", "1", "disc", "digits", "sym50", "smoke", Seeds(0), {}, epochs=2, curves=curves)


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


def test_curves_show_the_mean_of_the_seeds_and_shade_their_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(lond.plots, "save_figure", lambda figure, path: kept.append(figure) or [path])
    first = record_with({"accuracy": (0.2, 0.4), "auroc": (None, 0.75)})
    second = record_with({"accuracy": (0.3, 0.8), "auroc": (None, None)})
    curves = {"disc": [first, second], "sed": [second]}
    assert draw_curves(curves, ("accuracy", "fpr95", "auroc"), tmp_path / "curves") == [tmp_path / "curves"]
    (figure,) = kept
    accuracy, ranking = figure.axes  # nobody has an fpr95: it gets no panel
    assert [axis.get_title() for axis in figure.axes] == ["accuracy (%)", "AUROC (%)"]
    disc, sed = accuracy.get_lines()
    assert [line.get_label() for line in (disc, sed)] == ["disc", "sed"]
    assert disc.get_xdata().tolist() == [1, 2]
    assert disc.get_ydata().tolist() == pytest.approx([25, 60])
    assert sed.get_ydata().tolist() == pytest.approx([30, 80])
    assert disc.get_color() != sed.get_color()
    # One shaded range: of the method with two seeds, in its own colour.
    (band,) = accuracy.collections
    corners = {(round(x), round(y)) for x, y in band.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 20), (1, 30), (2, 40), (2, 80)}
    assert tuple(band.get_facecolor()[0][:3]) == pytest.approx(disc.get_color()[:3])
    (line,) = ranking.get_lines()
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([2], [75])
    assert not ranking.collections
    import_pyplot().close(figure)


def test_titles() -> None:
    assert title_of(result(torch.rand(60))) == "msp"
    assert title_of(result(torch.rand(60), "knn", "all")) == "knn (all)"


def test_missing_matplotlib_names_the_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (draw_histograms, draw_roc):
        with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[plots\]'"):
            draw(results(1), FOREIGN, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [0, 1, 9, 18, 25])
def test_lines_have_colours_of_their_own(count: int) -> None:
    colours = line_colours(count)
    assert len(set(colours)) == count
    assert all(max(colour[:3]) - min(colour[:3]) > 0.1 for colour in colours if colour != BLACK), "grey"
