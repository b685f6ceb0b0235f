"""The page of a store: complete, the same every time, and never older than the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper.reproduce.finished import finished_records
from paper.reproduce.made import made_plan
from tools.reproduced.commands import commands_of
from tools.reproduced.page import EMPTY, FIGURES, PAGE, PICTURES, STORE, main, make_page

from lond.paper import experiment
from lond.paper.reproduce.directions import FULL
from lond.paper.reproduce.filters import chosen_cells
from lond.paper.reproduce.planning import Run
from lond.results import Written, write

ROOT = Path(__file__).parents[3]


def fill(store: Path, name: str, scale: str, cells: list[str], seeds: list[int], **figures: float) -> list[Written]:
    """Store runs of an experiment; figures are accuracies by the beginning of the row's name, else 50 %."""

    def accuracy(run: Run) -> float:
        found = [value for row, value in figures.items() if run.cells[0].row.startswith(row)]
        return 0.01 + (found[0] if found else 0.5) + 0.02 * run.seed

    plan = made_plan(name, scale, cells, seeds, store.parent)
    return [write(store, record) for record in finished_records(plan, accuracy).values()]


def test_the_committed_page_is_that_of_the_committed_store() -> None:
    page = make_page(ROOT / STORE, ROOT / FIGURES)
    assert not page.unusable
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page.text, "the page is old: run make results"
    kept = {path.name: path.read_bytes() for path in (ROOT / PAGE).parent.joinpath(PICTURES).glob("*.png")}
    assert kept == {name: path.read_bytes() for name, path in page.pictures.items()}, "old pictures: run make results"


def test_nothing_stored(tmp_path: Path) -> None:
    assert make_page(tmp_path / "none", tmp_path / "none").text.endswith(EMPTY)
    fill(tmp_path / "store", "table1", "smoke", ["Ours"], [0])
    assert make_page(tmp_path / "store", tmp_path).text.endswith(EMPTY)


def test_a_table_of_contenders(tmp_path: Path) -> None:
    store = tmp_path / "store"
    fill(store, "table1", "frozen", ["Ours", "SED", "cifar80n"], [0], Ours=0.6, SED=0.4)
    fill(store, "table1", "frozen", ["Ours", "cifar80n"], [1, 2], Ours=0.6)
    text = make_page(store, tmp_path).text
    assert "## Table 1: Accuracy on CIFAR100N and CIFAR80N, frozen\n" in text
    assert (
        "**CIFAR80N, Sym-80%, accuracy.** 1 of 1 pairs of contenders have the same order as in the paper.\n\n"
        "| contender | here | paper | here - paper | rank here | rank in the paper | AUROC here |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| Ours | 62.00 ± 2.00 (n=3) | 49.30 | +12.70 | 1 | 1 | 60.00 ± 0.00 (n=3) |\n"
        "| SED | 40.00 (n=1) | 42.57 | -2.57 | 2 | 2 | 60.00 (n=1) |\n"
    ) in text
    assert "- 12 runs; training seeds: 0, 1, 2; seed of the noise: " in text
    assert "- machine: cpu, threads 1, precision 32-true, processes 1\n" in text
    assert "- versions: lond 0.1.0, python 3.11.7, torch 2.9.0\n" in text
    assert "| cifar80n | sym20 | train | 96 | 0123456789ab | fedcba987654 |" in text
    assert text.count("| test | 24 |") == text.count("## ")
    assert "lond reproduce table1 --scale frozen --seeds 0 --cells cifar80n --cells SED\n" in text
    assert "lond reproduce table1 --scale frozen --seeds 0,1,2 --cells cifar80n --cells Ours\n" in text
    # Runs are shared: other tables have our own row, too; the figures have nothing to compare it with.
    assert "## Table 2" in text and "## Table 4" in text and "## Figure" not in text
    assert "same direction" not in text


def test_a_noise_of_ours_needs_two_contenders(tmp_path: Path) -> None:
    fill(tmp_path / "store", "table1", "mini", ["Ours", "sym50"], [0])
    assert make_page(tmp_path / "store", tmp_path).text.endswith(EMPTY)
    fill(tmp_path / "store", "table1", "mini", ["Standard", "sym50"], [0], Standard=0.4)
    text = make_page(tmp_path / "store", tmp_path).text
    assert "**CIFAR80N, Sym-50%, accuracy.**\n" in text
    assert "| Standard | 40.00 (n=1) | – | – | 2 | – |" in text and text.count("\n## ") == 1


def test_the_ablation_and_a_noise_that_is_not_in_the_paper(tmp_path: Path) -> None:
    fill(tmp_path / "store", "table4", "mini", ["sym50"], [0, 1], **{FULL: 0.6})
    text = make_page(tmp_path / "store", tmp_path).text
    assert "## Table 4: Ablation on CIFAR80N, mini\n" in text
    assert "| (5).(4)+L_BCL | here | 61.00 ± 1.41 (n=2) | 60.00 ± 0.00 (n=2) |" in text
    row = f"| Sym-50% | (2).Baseline | {FULL} | accuracy | -10.00 ± 0.00 (n=2) |"
    assert f"{row} -2.35 (Sym-80%), -1.12 (Asym-40%) | yes |" in text
    assert "differences to the row before have the paper's sign.\n" in text
    assert "lond reproduce table4 --scale mini --seeds 0,1 --cells sym50\n" in text


def test_a_sweep(tmp_path: Path) -> None:
    fill(tmp_path / "store", "figure4", "frozen", ["sym80", "asym40"], [0], **{"K=2": 0.7, "K=3": 0.6})
    text = make_page(tmp_path / "store", tmp_path).text
    assert "| K | Sym-80% | Asym-40% | mean of the noises |\n" in text
    assert "| 2 | 65.00 (n=1) | 65.00 (n=1) | 65.00 (n=1) |\n" in text
    assert "| best here | 2 | 2 | 2 |\n| recommended | 3 | 1 | – |\n" in text
    assert "- the paper on K of figure4: symmetric noise: best at a middling K, 3" in text
    assert "lond reproduce figure4 --scale frozen --seeds 0 --cells sym80 --cells asym40\n" in text


def test_figures_that_print_nothing_and_pictures(tmp_path: Path) -> None:
    store, drawn = tmp_path / "store", tmp_path / "drawn"
    fill(store, "figure6", "frozen", [], [0])
    fill(store, "figure1", "frozen", ["Ours"], [0])
    assert "## Figure 6" not in make_page(store, drawn).text
    for name in ("figure6-frozen/figure6", "figure6-mini/figure6", "table3-full/curves-web-car"):
        (drawn / name).parent.mkdir(parents=True)
        (drawn / f"{name}.png").write_bytes(name.encode())
    page = make_page(store, drawn)
    assert "## Figure 6: t-SNE of what SED, NGC and LOND-DRS learn, frozen\n" in page.text
    assert f"![figure6, frozen: figure6-frozen-figure6]({PICTURES}/figure6-frozen-figure6.png)" in page.text
    assert "| Ours without open-set noise | here | 50.00 (n=1) |" in page.text
    assert "lond reproduce figure1 --scale frozen --seeds 0 --cells 'Ours with" in page.text
    # Pictures of what is not stored are not shown.
    assert list(page.pictures) == ["figure6-frozen-figure6.png"]


def test_a_figure_needs_what_it_studies(tmp_path: Path) -> None:
    """Runs of a table are no figure; under two noises each has its command."""
    store = tmp_path / "store"
    fill(store, "table1", "frozen", ["Ours", "CIR+", "cifar80n"], [0])
    assert "## Figure 1" not in make_page(store, tmp_path).text
    for noise in ("sym20", "asym40"):
        fill(store, "figure1", "frozen", ["Ours", noise], [0])
    text = make_page(store, tmp_path).text.partition("## Figure 1")[2]
    for noise in ("sym20", "asym40"):
        assert f"lond reproduce figure1 --scale frozen --seeds 0 --cells {noise} --cells 'CIR+ with open" in text
    assert "cifar80n sym80 accuracy" not in text


def test_the_same_page_every_time_with_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, docs, drawn = tmp_path / "store", tmp_path / "docs", tmp_path / "drawn"
    fill(store, "table2", "frozen", ["NGC", "Ours"], [0, 1])
    (store / "broken.json").write_text("{")
    (drawn / "table2-frozen").mkdir(parents=True)
    (drawn / "table2-frozen" / "curves.png").write_bytes(b"one")
    asked = ["--store", str(store), "--figures", str(drawn), "--out", str(docs / "page.md")]
    assert main(asked) == 2
    assert "there is no folder" in capsys.readouterr().err
    docs.mkdir()
    assert main(asked) == 0
    shown = capsys.readouterr()
    assert "broken.json is left out: damaged" in shown.err and "1 pictures" in shown.out
    first = (docs / "page.md").read_text(encoding="utf-8")
    # The order in which files were written does not matter.
    for path in sorted(store.glob("*.json"), reverse=True):
        path.write_text(path.read_text())
    (docs / PICTURES / "old.png").touch()
    assert main(asked) == 0
    assert (docs / "page.md").read_text(encoding="utf-8") == first
    assert [path.name for path in (docs / PICTURES).iterdir()] == ["table2-frozen-curves.png"]


@pytest.mark.parametrize("name", ["table1", "table4", "figure3", "figure5"])
def test_commands_choose_just_their_cells(name: str) -> None:
    one = experiment(name)
    for row in dict.fromkeys(cell.row for cell in one.cells):
        cells = {cell: (0, 2) for cell in one.cells if cell.row == row and cell.noise == one.cells[-1].noise}
        told = commands_of(one, "frozen", cells, one.cells)
        assert len(told) == 1
        words = told[0].replace("'", "").split()
        patterns = [words[at + 1] for at, word in enumerate(words) if word == "--cells"]
        assert set(chosen_cells(one.cells, patterns)) == set(cells)
    everything = dict.fromkeys(one.cells, (0,))
    assert commands_of(one, "full", everything, one.cells) == [f"lond reproduce {name} --scale full --seeds 0"]


def test_a_store_that_is_not_there_leaves_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("kept")
    assert main(["--store", str(tmp_path / "stroe"), "--out", str(tmp_path / "page.md")]) == 2
    assert (tmp_path / "page.md").read_text() == "kept"
    assert "there is no results store" in capsys.readouterr().err
