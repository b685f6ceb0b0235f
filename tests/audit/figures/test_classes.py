"""Figures of the classes: the worst rates on top, and which class is taken for which."""

from __future__ import annotations

from dataclasses import replace

import pytest
from audit.result_samples import make_audit, many_classes, nasty_audit, one_image

from lond.audit import Audit

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")


@pytest.fixture(scope="module")
def found() -> Audit:
    return make_audit()


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def test_rates_show_the_worst_classes_first(found: Audit) -> None:
    labels = [text.get_text() for text in found.plot_rates().axes[0].get_yticklabels()]
    assert labels[0] == "truck"
    assert len(labels) == 10
    figure = many_classes(100).plot_rates()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["class 99", "class 98"]
    assert len(labels) == 30
    assert "the 30 worst of 100 classes" in texts(figure)
    # Nothing is known of foreign images.
    assert len(figure.axes) == 1
    assert len(many_classes(100).plot_rates(most=5).axes[0].get_yticklabels()) == 5
    assert "no rates were estimated" in texts(one_image().plot_rates())
    assert "no rates were estimated" in texts(replace(found, summary={}).plot_rates())


def test_confusions_show_the_classes_most_involved() -> None:
    figure = many_classes(60).plot_confusions()
    assert len(figure.axes[0].get_yticklabels()) == 20
    assert any("the 20 most involved of 60 classes" in text for text in texts(figure))
    (axis,) = one_image().plot_confusions().axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["cat", "dog"]
    assert [text.get_text() for text in axis.texts] == ["1"]
    assert "no image was judged mislabelled" in texts(one_image("clean").plot_confusions())


def test_a_dollar_in_a_name_is_a_dollar() -> None:
    labels = [text for text in nasty_audit().plot_rates().axes[0].get_yticklabels() if "$" in text.get_text()]
    assert len(labels) == 2
    assert not any(label.get_parse_math() for label in labels)


def test_bars_and_lines_are_the_rates_of_the_summary(found: Audit) -> None:
    def rate(estimate: float) -> dict[str, float]:
        return {"estimate": estimate, "low": estimate / 2, "high": 2 * estimate}

    by_class = [
        {"class": "cat", "closed": rate(0.1), "open": None},
        {"class": "dog", "closed": None, "open": rate(0.3)},
    ]
    rates = {"closed": rate(0.05), "open": None, "by_class": by_class}
    wrong, foreign = replace(found, summary={"rates": rates}).plot_rates().axes
    assert [text.get_text() for text in wrong.get_yticklabels()] == ["dog", "cat"]
    assert [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in wrong.patches] == [(1, 0.1)]
    assert [bar.get_width() for bar in foreign.patches] == [0.3]
    assert [line.get_xdata()[0] for line in wrong.lines] == [0.05] and not foreign.lines
    assert wrong.get_title(loc="left") == "wrong labels: 5.0 % (2.5–10.0 %)"
    assert foreign.get_title(loc="left") == "foreign images"


def test_confusions_stand_in_the_order_of_the_classes_and_large_counts_are_short() -> None:
    one = one_image()
    table = replace(one.table.take([0] * 12_345), label=("dog",) * 12_345, suggested_label=("cat",) * 12_345)
    (axis,) = replace(one, table=table).plot_confusions().axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["cat", "dog"]
    assert [(text.get_position(), text.get_text()) for text in axis.texts] == [((0, 1), "12k")]
