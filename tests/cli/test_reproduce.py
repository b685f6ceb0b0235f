"""`lond reproduce` from the command line; training is faked, tests/reproduce/test_smoke.py really trains."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from paper.reproduce.fake import Fake, fake  # noqa: F401

from lond.paper import EXPERIMENTS
from lond.results import read

Call = Callable[..., tuple[int, str, str]]
SMOKE = ("--scale", "smoke", "--accelerator", "cpu")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defaults like runs/reproduce and results/store are below the working folder."""
    monkeypatch.chdir(tmp_path)


def test_the_list(lond: Call) -> None:
    code, out, _ = lond("reproduce", "--list")
    assert code == 0
    assert all(name in out for name in EXPERIMENTS)
    assert "table5 The three tasks (0 cells): nothing to run" in out
    assert "table1 Accuracy on CIFAR100N and CIFAR80N (60 cells): rows: Standard, Co-teaching" in out
    assert "mini: mini80" in out
    code, out, _ = lond("reproduce", "figure4", "--list")
    assert "K=5" in out and "table1" not in out


def test_tables_are_printed_and_written(lond: Call, fake: Fake, tmp_path: Path) -> None:  # noqa: F811
    asked = ("reproduce", "table4", "--cells", "sym80", "--seeds", "0,1", *SMOKE)
    code, out, error = lond(*asked)
    assert code == 0, error
    assert "12 runs, 0 finished before" in out
    assert "54.00 ± 7.07 (n=2)" in out and "49.30" in out
    assert "note: the paper's figures are of full scale" in out
    target = Path("runs/reproduce/table4-smoke")
    assert {path.name for path in target.iterdir()} == {
        "table.md", "table.tex", "table.csv", "table.json", "curves-cifar80n-sym80.png", "curves-cifar80n-sym80.svg",
    }  # fmt: skip
    before = (target / "table.json").read_text()
    assert len(read("runs/reproduce/store")) == 12
    code, out, _ = lond(*asked)
    assert "12 runs, 12 finished before" in out
    assert len(fake.trained) == 12
    assert (target / "table.json").read_text() == before


def test_what_has_nothing_to_run(lond: Call) -> None:
    code, out, _ = lond("reproduce", "table5", *SMOKE)
    assert code == 0 and "LRND" in out
    assert Path("runs/reproduce/table5-smoke/table.md").is_file()
    code, out, _ = lond("reproduce", "figure2", *SMOKE)
    assert code == 0 and "there is nothing to run" in out


def test_a_failure_is_told_and_the_exit_code_says_so(lond: Call, fake: Fake) -> None:  # noqa: F811
    fake.broken = "unicon"
    code, out, _ = lond("reproduce", "figure5", *SMOKE)
    assert code == 1
    assert "RuntimeError: size mismatch" in out
    assert "the paper on figure5: after the warm-up" in out
    assert Path("runs/reproduce/figure5-smoke/figure5.svg").is_file()
    fake.broken = ""
    assert lond("reproduce", "figure5", *SMOKE)[0] == 0
    assert len(fake.trained) == 4


def test_an_interrupt_and_going_on(lond: Call, fake: Fake) -> None:  # noqa: F811
    fake.stop_at = 2
    code, out, _ = lond("reproduce", "figure1", *SMOKE)
    assert code == 130
    assert "stopped; run the same command to resume" in out
    fake.stop_at = 0
    code, out, _ = lond("reproduce", "figure1", *SMOKE)
    assert code == 0
    assert "4 runs, 1 finished before" in out


@pytest.mark.parametrize(("name", "scale"), [("table2", "mini"), ("table7", "frozen"), ("figure3", "full")])
def test_a_dry_run_runs_nothing(name: str, scale: str, lond: Call, fake: Fake) -> None:  # noqa: F811
    code, out, error = lond("reproduce", name, "--scale", scale, "--dry-run", "--accelerator", "cpu")
    assert code == 0, error
    assert "to train: about" in out
    assert "note: data are missing: " in out
    assert not fake.trained and not list(Path().iterdir())


def test_a_dry_run_knows_what_is_there(lond: Call, fake: Fake) -> None:  # noqa: F811
    lond("reproduce", "figure1", "--cells", "LOND*", *SMOKE)
    code, out, _ = lond("reproduce", "figure1", *SMOKE, "--dry-run")
    assert code == 0
    assert "4 cells, 4 runs, 2 to train" in out
    assert out.count("finished") == 2


def test_a_long_run_needs_consent(lond: Call, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("lond.paper.reproduce.planning.load_benchmark", lambda settings: None)
    monkeypatch.setattr("lond.paper.reproduce.estimate.estimated_seconds", lambda *_: 36_000.0)
    asked = ("reproduce", "table1", "--scale", "full", "--cells", "Ours", "--cells", "sym80", "--cells", "cifar80n")
    monkeypatch.setattr("sys.stdin", Terminal(False))
    code, out, error = lond(*asked)
    assert code == 2 and "add --yes" in error and "10.0 hours" in error
    assert not fake.trained
    monkeypatch.setattr("sys.stdin", Terminal(True))
    monkeypatch.setattr("typer.confirm", lambda text: False)
    assert lond(*asked)[0] == 1
    assert not fake.trained
    code, out, error = lond(*asked, "--yes")
    assert code == 0, error
    assert "1 runs to train: about 10.0 hours" in out
    (record,) = read("results/store")
    assert (record.scale, record.preset) == ("full", "cifar80n-sym80")
    content = json.loads(Path("runs/reproduce/table1-full/table.json").read_text())
    assert content["lines"][0]["delta"] == pytest.approx(49.0 - 49.30)


class Terminal:
    """Stands for the input; a terminal or not."""

    def __init__(self, real: bool) -> None:
        self.real = real

    def isatty(self) -> bool:
        return self.real


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name a table or figure"),
        (("table9",), "the paper has no 'table9'; choose one of: table1"),
        (("table1", "--scale", "tiny"), "there is no scale 'tiny'; choose one of: full, mini"),
        (("table1", "--cells", "foo"), "--cells 'foo' fits nothing; choose from rows: Standard"),
        (("table1", "--seeds", "a"), "--seeds needs whole numbers"),
        (("table1", "--jobs", "0"), "--jobs must be at least 1"),
        (("table3", "--scale", "mini"), "there is no reduced Web-Aircraft"),
        (("table3", "--scale", "full"), "Get web-aircraft of the WebFG-496 data"),
        (("table1", "--scale", "mini"), "cifar-100-python"),
        (("table1", "--seeds=-1"), "must not be negative"),
        (("table1", "--accelerator", "tpu"), "accelerator 'tpu' is unknown"),
    ],
)
def test_refused_input(arguments: tuple[str, ...], told: str, lond: Call, fake: Fake) -> None:  # noqa: F811
    code, _, error = lond("reproduce", *arguments)
    assert code == 2
    assert told in error
    assert not fake.trained


@pytest.mark.parametrize("option", ["--out", "--store"])
def test_a_place_that_cannot_be_written_to_is_refused(option: str, lond: Call, fake: Fake) -> None:  # noqa: F811
    Path("here").touch()
    for place, told in (("here", "is a file; name a folder"), ("here/below", "cannot be made")):
        code, _, error = lond("reproduce", "figure1", *SMOKE, option, place)
        assert code == 2 and f"{option} {place} {told}" in error and not fake.trained


def test_what_is_stored_is_printed_without_its_data(
    lond: Call,
    fake: Fake,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = ("reproduce", "table1", "--scale", "mini", "--cells", "Ours", "--accelerator", "cpu", "--yes")
    with monkeypatch.context() as patch:
        patch.setattr("lond.paper.reproduce.planning.load_benchmark", lambda settings: None)
        assert lond(*asked)[0] == 0
    code, out, error = lond(*asked)
    assert code == 0 and "49.00 (n=1)" in out, error
    assert len(fake.trained) == 3
    assert "3 of the 60 cells" in out


def test_curves_of_other_cells_do_not_stay(lond: Call, fake: Fake) -> None:  # noqa: F811
    asked = ("reproduce", "table1", *SMOKE, "--cells", "Ours", "--cells", "cifar80n")
    lond(*asked)
    target = Path("runs/reproduce/table1-smoke")
    assert len(list(target.glob("curves-*.png"))) == 3
    lond(*asked, "--cells", "sym20")
    assert [path.name for path in target.glob("curves-*.png")] == ["curves-cifar80n-sym20.png"]


def test_a_damaged_file_of_the_store_is_noted(lond: Call, fake: Fake) -> None:  # noqa: F811
    store = Path("runs/reproduce/store")
    store.mkdir(parents=True)
    (store / "damaged.json").write_text("{")
    for more in (("--dry-run",), ()):
        _, out, _ = lond("reproduce", "figure1", *SMOKE, *more)
        assert "note: runs/reproduce/store/damaged.json is left out: damaged" in out
