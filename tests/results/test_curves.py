"""Learning curves: what is drawn of which records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lond.plots import import_pyplot
from lond.results import Record, Seeds
from lond.results import curves as module
from lond.results.curves import draw_curves


def record_with(curves: dict[str, tuple[float | None, ...]]) -> Record:
    return Record("0", "1", "disc", "digits", "sym50", "smoke", Seeds(0), {}, epochs=2, curves=curves)


def test_curves_show_the_mean_of_the_seeds_and_shade_their_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(module, "save_figure", lambda figure, path: kept.append(figure) or [path])
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
