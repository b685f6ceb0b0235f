"""Figures of an audit: what they show, whatever the audit is like, and that they leave matplotlib alone."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from audit.result_samples import make_audit, many_classes, nasty_audit, one_image

from lond.audit import Audit
from lond.errors import ConfigError, MissingDependencyError
from lond.webpage.style import VERDICT_STYLES

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")

PLOTS: dict[str, Callable[[Audit], object]] = {
    "margins": Audit.plot_margins,
    "scores": Audit.plot_scores,
    "rates": Audit.plot_rates,
    "confusions": Audit.plot_confusions,
    "map": Audit.plot_map,
    "show": lambda found: found.show(most=4),
}


@pytest.fixture(scope="module")
def found() -> Audit:
    return make_audit()


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def draw(figure: object) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A machine may lack the font for a foreign alphabet, which is no fault of the figure.
        warnings.filterwarnings("ignore", message="Glyph")
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("make", [make_audit, one_image, nasty_audit, lambda: many_classes(60)])
def test_every_figure_of_every_audit_can_be_drawn(name: str, make: Callable[[], Audit]) -> None:
    figure = PLOTS[name](make())
    assert isinstance(figure, matplotlib.figure.Figure)
    assert draw(figure).startswith(b"\x89PNG")


def test_nothing_global_is_touched(found: Audit) -> None:
    from matplotlib import pyplot

    before, numbers, backend = dict(matplotlib.rcParams), pyplot.get_fignums(), matplotlib.get_backend()
    for plot in PLOTS.values():
        plot(found)
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == numbers
    assert matplotlib.get_backend() == backend


def test_a_notebook_can_show_a_figure_without_pyplot(found: Audit) -> None:
    assert found.plot_map()._repr_png_().startswith(b"\x89PNG")


def test_margins_show_each_verdict_in_its_own_colour_and_marker(found: Audit) -> None:
    figure = found.plot_margins()
    points = {c.get_label().rsplit(" (", 1)[0]: c for c in figure.axes[0].collections if "(" in c.get_label()}
    # Unreadable images have no margins.
    assert set(points) == {str(verdict) for verdict in VERDICT_STYLES} - {"unreadable"}
    for verdict, style in VERDICT_STYLES.items():
        if verdict in points:
            assert matplotlib.colors.to_hex(points[verdict].get_facecolor()[0]) == style.colour
            assert len(points[verdict].get_offsets()) == found.counts[verdict]
    assert "no image has margins" in texts(one_image().plot_margins())


def test_scores_show_all_images_and_the_threshold(found: Audit) -> None:
    (axis,) = found.plot_scores().axes
    assert sum(patch.get_height() for patch in axis.patches) == np.isfinite(found.table.foreign_score).sum()
    assert "threshold 2.1" in axis.get_legend_handles_labels()[1]
    for threshold in (None, math.nan, math.inf):
        without = replace(found, summary=found.summary | {"threshold": threshold}).plot_scores()
        assert "no threshold: nothing is called foreign" in texts(without)
    same = replace(found, table=replace(found.table, foreign_score=(0.5,) * 300))
    assert sum(patch.get_height() for patch in same.plot_scores().axes[0].patches) == 300
    assert "no image has a foreign score" in texts(one_image().plot_scores())


def test_the_map_leaves_out_what_has_no_place(found: Audit) -> None:
    nowhere = [(math.nan, math.nan)] * 7 + found.positions[7:]
    figure = replace(found, positions=nowhere).plot_map()
    assert sum(len(points.get_offsets()) for points in figure.axes[0].collections) == 293
    assert "7 without a place" in texts(figure)
    assert "the audit was made without a map" in texts(replace(found, positions=None).plot_map())
    assert "no image has a place on the map" in texts(one_image().plot_map())


def test_a_gallery_shows_the_surest_images(found: Audit) -> None:
    figure = found.show("mislabelled", most=5, columns=3)
    place = found.places("mislabelled")[0]
    assert len([axis for axis in figure.axes if axis.images]) == 5
    assert found.table.label[place] in figure.axes[0].get_xlabel()
    assert f"→ {found.table.suggested_label[place]}" in figure.axes[0].get_xlabel()
    assert any("the 5 surest of" in text for text in texts(figure))
    assert "no picture" in texts(found.show("unreadable", most=1))
    assert "there is no such image" in texts(one_image().show("foreign"))
    assert any("mislabelled in 'cat'" in text for text in texts(found.show(label="cat", most=1)))
    for wrong in ({"most": 0}, {"columns": 0}, {"verdict": "wrong"}):
        with pytest.raises(ConfigError):
            found.show(**wrong)


def test_without_matplotlib_it_says_what_to_install(found: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("canvas", "classes", "images"):
        monkeypatch.delitem(sys.modules, f"lond.audit.figures.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in PLOTS.values():
        with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[plots\]'"):
            plot(found)
