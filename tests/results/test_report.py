"""The page of a comparison: whole, safe, and honest about what is best."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from lond.data.pixels import ArrayPixels
from lond.results import Group, Record, Seeds
from lond.results.compare import Comparison
from lond.results.report import write_report
from lond.types import Samples

HOSTILE = '<script>alert("x")</script>'
TITLES = {"accuracy": "accuracy", "fpr95": "FPR95 (lower is better)"}


def group(name: str, **metrics: float) -> Group:
    curves = {"accuracy": (None, 0.5, 0.75)}
    record = Record("0", "1", name, "digits", "", "smoke", Seeds(0), {}, epochs=3, metrics=metrics, curves=curves)
    return Group({"method": name}, (record,))


def write_verdicts(path: Path, rows: list[tuple[str, ...]]) -> Path:
    heads = ("id", "label", "verdict", "suggested_label", "foreign_score", "true_label")
    lines = [",".join(heads), *(",".join('"{}"'.format(value.replace('"', '""')) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_page_is_whole_and_nothing_in_it_runs(tmp_path: Path) -> None:
    verdicts = write_verdicts(
        tmp_path / "verdicts.csv",
        [
            ("0", HOSTILE, "clean", HOSTILE, "0.5", HOSTILE),
            ("1", "b", "mislabelled", HOSTILE, "0.5", "b"),
            ("2", "b", "foreign", "", "0.5", ""),
        ],
    )
    labels = torch.tensor([0, 1, 1])
    samples = Samples(
        ArrayPixels(torch.zeros(3, 3, 8, 8, dtype=torch.uint8)), labels, (HOSTILE, "b"), ("0", "1", "2"), labels
    )
    groups = (group(HOSTILE, accuracy=0.5, fpr95=0.1), group("two", fpr95=0.2))
    write_report(tmp_path / "page.html", Comparison(HOSTILE, groups, {}), "sub", TITLES, samples, verdicts)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    # The policy allows the one style alone: neither scripts nor attributes with styles.
    assert re.search(r"content=\"default-src 'none'; style-src 'sha256-[^']+'; img-src data:", page)
    assert ' style="' not in page
    assert page.count("data:image/png;base64,") == 3
    assert page.count('class="right"') == 2
    assert page.count('class="wrong"') == 1
    assert "http://" not in page and "https://" not in page
    assert '<td class="best">10.00</td><td>20.00</td>' in page
    assert "<td>50.00</td><td>–</td>" in page
    assert page.count("<polyline") == 2
    for title in ("Clean (1)", "Mislabelled (1)", "Foreign (1)"):
        assert title in page


def test_empty_walls_say_so(tmp_path: Path) -> None:
    samples = Samples(ArrayPixels(torch.zeros(1, 1, 8, 8, dtype=torch.uint8)), torch.tensor([0]), ("a", "b"), ("0",))
    verdicts = write_verdicts(tmp_path / "verdicts.csv", [("0", "a", "clean", "a", "0.5", "a")])
    empty = Comparison("t", (group("m"),), {})
    write_report(tmp_path / "page.html", empty, "s", {}, samples, verdicts)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<p>none</p>") == 2
    write_report(tmp_path / "page.html", empty, "s", {}, samples, tmp_path / "no verdicts.csv")
    assert "wall" not in (tmp_path / "page.html").read_text(encoding="utf-8").split("</style>")[1]
