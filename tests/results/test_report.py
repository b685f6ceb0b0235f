import json
from pathlib import Path

import torch

from lond.data.pixels import ArrayPixels
from lond.results.report import Comparison, write_report
from lond.types import Samples

HOSTILE = '<script>alert("x")</script>'


def make_run(folder: Path, rows: list[dict[str, str]]) -> Path:
    folder.mkdir()
    records = [{"epoch": 0}, {"epoch": 1, "accuracy": 0.5}, {"epoch": 2, "accuracy": 0.75}]
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    lines = [
        ",".join(rows[0]),
        *(",".join(f'"{value}"'.replace('"x"', '""x""') for value in row.values()) for row in rows),
    ]
    (folder / "verdicts.csv").write_text("\n".join(lines) + "\n")
    return folder


def row(name: str, label: str, verdict: str, suggested: str, truth: str) -> dict[str, str]:
    return {
        "id": name,
        "label": label,
        "verdict": verdict,
        "suggested_label": suggested,
        "foreign_score": "0.5",
        "true_label": truth,
    }


def test_the_page_is_whole_and_nothing_in_it_runs(tmp_path: Path) -> None:
    rows = [
        row("0", HOSTILE, "clean", HOSTILE, HOSTILE),
        row("1", "b", "mislabelled", HOSTILE, "b"),
        row("2", "b", "foreign", "", ""),
    ]
    labels = torch.tensor([0, 1, 1])
    samples = Samples(
        ArrayPixels(torch.zeros(3, 3, 8, 8, dtype=torch.uint8)), labels, (HOSTILE, "b"), ("0", "1", "2"), labels
    )
    folder = make_run(tmp_path / "run", rows)
    comparison = Comparison(
        HOSTILE, "sub", ("one", "two"), {"accuracy": [0.5, None], "FPR95 (lower is better)": [0.1, 0.2]}
    )
    write_report(tmp_path / "page.html", comparison, samples, {"one": folder, "two": folder}, judge="two")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("data:image/png;base64,") == 3
    assert page.count('class="right"') == 2
    assert page.count('class="wrong"') == 1
    assert "http" not in page
    assert '<td class="best">10.0 %</td>' in page
    assert "<td>–</td>" in page
    for title in ("Clean (1)", "Mislabelled (1)", "Foreign (1)"):
        assert title in page


def test_empty_walls_say_so(tmp_path: Path) -> None:
    labels = torch.tensor([0])
    samples = Samples(ArrayPixels(torch.zeros(1, 1, 8, 8, dtype=torch.uint8)), labels, ("a", "b"), ("0",))
    folder = make_run(tmp_path / "run", [row("0", "a", "clean", "a", "a")])
    write_report(tmp_path / "page.html", Comparison("t", "s", ("m",), {}), samples, {"m": folder}, judge="m")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<p>none</p>") == 2
