"""A short version of ``make torture``: every kind of damage once, some kills, a full disk at some writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.torture import full_disk, kills
from benchmarks.torture.damage import ANY, CSV, JSON, damaged
from benchmarks.torture.readers import Kind, kinds, make_files, try_damage, whole_answer
from benchmarks.torture.table import table
from benchmarks.torture.world import Command, commands, make_world

STORED = Path(__file__).parents[2] / "results/torture.json"
PAGE = Path(__file__).parents[2] / "docs/promises.md"
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "whole"
    make_files(folder)
    return folder


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_damaged_files_are_refused_in_one_line_or_read_alike(kind: Kind, files: Path) -> None:
    whole = whole_answer(kind, files)
    outcomes = {seed: try_damage(kind, files, whole, seed) for seed in range(len(kind.damages))}
    bad = {
        seed: told for seed, told in outcomes.items() if told[0] == "trace" or (kind.sealed and told[0] == "changed")
    }
    assert not bad
    assert "refused" in {outcome for outcome, _ in outcomes.values()} or kind.name == "page of an audit"


def test_the_same_seed_gives_the_same_damage() -> None:
    content = b'{"a": [1, 2, {"b": "c"}], "d": null}'
    for damages in (ANY, JSON, CSV):
        made = [damaged(content, damages, seed) for seed in range(24)]
        assert made == [damaged(content, damages, seed) for seed in range(24)]
        assert sum(changed != content for _, changed in made) > 18


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


def short(command: Command) -> Command:
    """Return a training that takes a second or two."""
    arguments = [*command.arguments]
    arguments[arguments.index("lond-drs")] = "standard"
    arguments[arguments.index("--epochs") + 1] = "2"
    return Command(command.name, tuple(arguments), command.answer)


def test_a_full_disk_at_any_write_is_one_line_and_loses_nothing(world: Path, tmp_path: Path) -> None:
    train = short(commands(world)[0])
    found = full_disk.torture([train], tmp_path, step=3)
    assert found["writes"] >= 3
    assert found["told_in_one_line"] == found["equal_ends"] == found["writes"], found["list"]


def test_a_killed_command_ends_as_an_uncut_one(world: Path, tmp_path: Path) -> None:
    train = short(commands(world)[0])
    code, words = full_disk.call(train, tmp_path / "uncut")
    assert code == 0, words
    uncut = train.answer(tmp_path / "uncut")
    chain = kills.run_chain(train, uncut, tmp_path / "cut", kills=2, seconds=8, seed=1)
    assert chain.equal, chain.problem


def test_the_stored_result_is_of_all_kinds_without_a_loss_and_on_the_page() -> None:
    stored = json.loads(STORED.read_text("utf-8"))
    assert stored["kills"]["kills"] >= 50 and stored["kills"]["equal_ends"] == stored["kills"]["chains"]
    assert all(count > 0 for count in stored["kills"]["by_command"].values())
    assert stored["files"]["files"] >= 200 and stored["files"]["by_kind"].keys() == {kind.name for kind in kinds()}
    assert stored["files"]["tracebacks"] == stored["files"]["wrong_results_accepted"] == 0
    assert stored["disk"]["told_in_one_line"] == stored["disk"]["equal_ends"] == stored["disk"]["writes"] > 0
    assert table(stored) in PAGE.read_text("utf-8")
