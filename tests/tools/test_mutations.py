"""Changes of the source: which are tried, what they make of it, and that tests notice one."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from tools import mutations
from tools.mutations import (
    ENDLESS,
    NOTICED,
    ROOMS,
    UNNOTICED,
    Mutant,
    changed,
    left_of,
    main,
    mutants_of,
    room_mutants,
    suites_of,
    tried,
)

TABLE_USERS = ("co_teaching", "co_teaching_plus", "disc", "jo_src", "npn")
"""Methods that keep a table of their samples, or whose tests are named after one."""

SOURCE = '''"""A module of 3 lines."""
LIMIT: int = 5


def f(x: Tensor, flag: bool = False) -> Tensor:
    """Return 1."""
    if not flag and x < 2.5 or x is None:
        raise ValueError(f"{x + 1} is 2 large" + str(1))
    return -(x.sum(dim=1, keepdim=True) + LIMIT * x).clamp_min(0.0) & ~x
'''


def test_every_change() -> None:
    told = [(mutant.line, mutant.change) for mutant in mutants_of(SOURCE, "a.py")]
    assert sorted(told) == sorted([
        (2, "5 -> 6"),
        (5, "False -> True"),
        (7, "Or -> And"),
        (7, "And -> Or"),
        (7, "Not dropped"),
        (7, "Lt -> LtE"),
        (7, "2.5 -> 5.0"),
        (7, "Is -> IsNot"),
        (9, "BitAnd -> BitOr"),
        (9, "USub dropped"),
        (9, "clamp_min -> clamp_max"),
        (9, "Add -> Sub"),
        (9, "sum -> mean"),
        (9, "Mult -> Div"),
        (9, "0.0 -> 1.0"),
        (9, "Invert dropped"),
    ])  # fmt: skip


def test_each_change_is_made_alone() -> None:
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    seen = set()
    for mutant in mutants_of(SOURCE):
        lines = ast.unparse(changed(SOURCE, mutant.place)).splitlines()
        (differing,) = [at for at, (old, new) in enumerate(zip(plain, lines, strict=True)) if old != new]
        seen.add(lines[differing])
    assert len(seen) == len(mutants_of(SOURCE))
    assert "LIMIT: int = 6" in seen and "def f(x: Tensor, flag: bool=True) -> Tensor:" in seen


def test_a_draw_is_repeatable_and_in_order() -> None:
    every = room_mutants("losses", 10**9, 0)
    some = room_mutants("losses", 20, 1)
    assert len(every) > 100 and len(some) == 20
    assert some == room_mutants("losses", 20, 1) != room_mutants("losses", 20, 2)
    assert [every.index(mutant) for mutant in some] == sorted(every.index(mutant) for mutant in some)


def test_the_suites_of_the_same_name_come_first() -> None:
    first, second = (Path(tests[0]) for tests in suites_of("losses/mixup.py"))
    assert first.name == "test_mixup.py" and first.parent == second
    assert [Path(tests[0]).name for tests in suites_of("losses/__init__.py")] == ["losses"]


def test_a_nested_room_has_the_suites_of_its_folder() -> None:
    assert {mutant.file.rsplit("/", 1)[0] for mutant in room_mutants("audit/judge", 40, 0)} == {"audit/judge"}
    found = [Path(tests[0]).relative_to(mutations.ROOT).as_posix() for tests in suites_of("audit/judge/learn.py")]
    assert found == ["tests/audit/judge/test_learn.py", "tests/audit/judge"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        # A method: its own files, then the protocol by the beginning of its name.
        ("npn", [["test_npn.py"], ["test_protocol.py", "-k", "[npn"]]),
        ("sed", [["test_sed.py"], ["test_protocol.py", "-k", "[sed"]]),
        # What methods share: its own file, then those of its users.
        ("sample_table", [["test_sample_table.py"], [f"test_{name}.py" for name in TABLE_USERS]]),
        (
            "lond_drs_settings",
            [
                ["test_lond_drs_settings.py"],
                [f"test_lond_drs{part}.py" for part in ("", "_fast", "_settings", "_step", "_witness")],
            ],
        ),
        ("__init__", [["methods"]]),
    ],
)  # fmt: skip
def test_the_suites_of_a_method_leave_the_other_methods_out(file: str, expected: list[list[str]]) -> None:
    found = suites_of(f"methods/{file}.py")
    assert [[word.rsplit("/", 1)[-1] for word in tests] for tests in found] == expected
    assert all(Path(word).exists() for tests in found for word in tests if word.endswith(".py"))


def test_changes_are_noticed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of one function, whose test knows its sign and not its limit."""
    for folder in ("src/lond/losses", "tests/losses"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/lond/losses/halves.py").write_text(
        "def half(x: float) -> float:\n    return x / 2 if x < 9 else x\n"
    )
    test = "from lond.losses.halves import half\n\n\ndef test_half() -> None:\n    assert half(4) == 2\n"
    (tmp_path / "tests/losses/test_halves.py").write_text(test)
    for name in ("losses", "losses.halves"):
        monkeypatch.delitem(mutations.sys.modules, f"lond.{name}", raising=False)
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    monkeypatch.setattr(mutations, "PACKAGE", tmp_path / "src/lond")
    found = {mutant.change: tried(mutant) for mutant in room_mutants("losses", 99, 0)}
    assert found == {"Div -> Mult": NOTICED, "2 -> 3": NOTICED, "Lt -> LtE": UNNOTICED, "9 -> 10": UNNOTICED}


def test_a_change_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("src/lond/losses", "tests/losses"):
        (tmp_path / folder).mkdir(parents=True)
    counts = "def count() -> int:\n    found = 0\n    while found < 3:\n        found = found + 1\n    return found\n"
    (tmp_path / "src/lond/losses/counts.py").write_text(counts)
    test = "from lond.losses.counts import count\n\n\ndef test_count() -> None:\n    assert count() == 3\n"
    (tmp_path / "tests/losses/test_counts.py").write_text(test)
    monkeypatch.delitem(mutations.sys.modules, "lond.losses", raising=False)
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    monkeypatch.setattr(mutations, "PACKAGE", tmp_path / "src/lond")
    monkeypatch.setattr(mutations, "SECONDS", 2)
    (backwards,) = [mutant for mutant in room_mutants("losses", 99, 0) if mutant.change == "Add -> Sub"]
    assert tried(backwards) == ENDLESS


def test_what_was_left_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rooms are tried, then what one of them left; the other one's outcome stays."""
    out, weak = tmp_path / "mutations.json", {"losses/mixup.py", "evaluate/accuracy.py"}
    monkeypatch.setattr(mutations, "tried", lambda mutant: UNNOTICED if mutant.file in weak else NOTICED)
    monkeypatch.setattr(mutations.gc, "freeze", lambda: None)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "")
    assert main(["--rooms", "losses", "evaluate", "--out", str(out)]) == 0
    first = json.loads(out.read_text())
    assert {mutant["file"] for room in first.values() for mutant in room["unnoticed"]} == weak
    assert first["losses"]["noticed"] < first["losses"]["changes"] == len(room_mutants("losses", 10**9, 0))
    weak.clear()
    main(["--rooms", "losses", "--again", "--out", str(out)])
    again = json.loads(out.read_text())
    assert again["evaluate"] == first["evaluate"]
    assert again["losses"]["noticed"] == again["losses"]["changes"] == first["losses"]["changes"]
    assert (again["losses"]["score"], again["losses"]["unnoticed"]) == (1.0, [])
    assert again["losses"]["command"] == first["losses"]["command"]
    main(["--rooms", "losses", "--again", "--out", str(out)])
    assert json.loads(out.read_text())["losses"]["noticed_at_first"] == first["losses"]["noticed"]


def test_other_source_is_not_tried_again() -> None:
    gone = {"file": "losses/mixup.py", "line": 1, "change": "Add -> Sub", "place": 0}
    with pytest.raises(SystemExit, match="has changed since"):
        left_of({"unnoticed": [gone]})


def test_the_stored_scores_add_up_and_are_told() -> None:
    stored = json.loads((mutations.ROOT / mutations.OUT).read_text("utf-8"))
    page = (mutations.ROOT / "docs/mutation-testing.md").read_text("utf-8")
    assert set(stored) == set(ROOMS)
    for room, outcome in stored.items():
        left = [Mutant(**mutant) for mutant in outcome["unnoticed"]]
        assert outcome["noticed"] + len(left) == outcome["changes"] >= 40
        row = f"| `{room}` | {outcome['changes']} | {outcome['noticed']} |"
        assert (f"{row} {outcome['noticed_at_first']} |" if "noticed_at_first" in outcome else row) in page
        assert all(mutant.file.startswith(f"{room}/") for mutant in left)
