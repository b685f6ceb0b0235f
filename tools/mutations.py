"""Change the source one small thing at a time and see whether the tests notice: ``python -m tools.mutations``.

A change that no test notices shows a line that no test holds. The score of each room, and every change that went
unnoticed, are written to ``results/mutations.json``; docs/mutation-testing.md says what those that are left mean.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import json
import os
import random
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/lond"
OUT = Path("results/mutations.json")
ROOMS = ("losses", "identify", "detect", "evaluate", "methods", "crossfit", "audit/judge")
ALL = 10**9
"""More changes than a room has."""
SECONDS = 300
"""Of the processor, after which the tests of a mutant are stopped. It counts as noticed: it would not end."""

PATIENCE = 20
"""How much longer the tests may take on a busy machine, or while they wait."""

UNNOTICED, NOTICED, ENDLESS = 0, 1, 2

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
OPPOSITES = {
    "min": "max", "max": "min", "amin": "amax", "amax": "amin", "argmin": "argmax", "argmax": "argmin",
    "clamp_min": "clamp_max", "clamp_max": "clamp_min", "any": "all", "all": "any", "sum": "mean", "mean": "sum",
}  # fmt: skip
"""Methods of tensors -> the opposite ones."""

UNTOUCHED = ("dim", "keepdim", "stacklevel", "frozen")
"""Arguments that are left alone: another value fails at once, or changes nothing."""


@dataclass(frozen=True)
class Mutant:
    """One change of a source file."""

    file: str
    """Relative to the package."""
    line: int
    change: str
    place: int
    """Which of the changes of this file."""


class _Changes(ast.NodeTransformer):
    """Lists every possible change of a tree, and makes the wanted one."""

    def __init__(self, wanted: int | None = None) -> None:
        self.wanted = wanted
        self.found: list[tuple[int, str]] = []

    def _is_wanted(self, node: ast.expr, told: str) -> bool:
        self.found.append((node.lineno, told))
        return len(self.found) - 1 == self.wanted

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for at, sign in enumerate(node.ops):
            other = COMPARISONS[type(sign)]
            if self._is_wanted(node, f"{type(sign).__name__} -> {other.__name__}"):
                node.ops[at] = other()
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        other = OPERATORS.get(type(node.op))
        if other and self._is_wanted(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        if self._is_wanted(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        dropped = self._is_wanted(node, f"{type(node.op).__name__} dropped")
        self.generic_visit(node)
        return node.operand if dropped else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        other = OPPOSITES.get(node.attr)
        if other and self._is_wanted(node, f"{node.attr} -> {other}"):
            node.attr = other
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value: Any = node.value
        if isinstance(value, bool):
            new: Any = not value
        elif isinstance(value, int | float):
            new = value + 1 if isinstance(value, int) else 2 * value or 1.0
        else:
            return node
        if self._is_wanted(node, f"{value} -> {new}"):
            node.value = new
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg in UNTOUCHED else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for part in (node.args.defaults, node.args.kw_defaults, node.body):
            part[:] = [child if child is None else self.visit(child) for child in part]  # type: ignore[misc]
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def mutants_of(source: str, file: str = "") -> list[Mutant]:
    """Return every change of a source that is tried."""
    changes = _Changes()
    changes.visit(ast.parse(source))
    return [Mutant(file, line, told, place) for place, (line, told) in enumerate(changes.found)]


def changed(source: str, place: int) -> ast.Module:
    """Return the tree of a source with one change."""
    tree: ast.Module = _Changes(place).visit(ast.parse(source))
    return ast.fix_missing_locations(tree)


def room_mutants(room: str, most: int, seed: int) -> list[Mutant]:
    """Return the changes of a room, or as many of them drawn at random, in the order of the source."""
    found = [
        mutant
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for mutant in mutants_of(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
    ]
    drawn = list(range(len(found)))
    random.Random(f"{seed} {room}").shuffle(drawn)
    return [found[at] for at in sorted(drawn[:most])]


def suites_of(file: str) -> list[list[str]]:
    """Return the tests that a change must pass, quickest first: the file of the same name, then those of the folder.

    All tests of the methods take minutes. Instead of them, a method has to pass its own files and what every method
    owes to the training loop; a file that methods share, the tests of those that import it.
    """
    folder, stem = ROOT / "tests" / Path(file).parent, Path(file).stem
    if stem != "__init__" and file.startswith("methods/"):
        return _suites_of_method(folder, stem)
    return [[str(path)] for path in (folder / f"test_{stem}.py", folder) if path.exists()]


def _suites_of_method(folder: Path, stem: str) -> list[list[str]]:
    """Return the tests of a file of the methods."""
    name = stem.replace("_", "-")
    if f'"{name}' in (PACKAGE / "methods/__init__.py").read_text("utf-8"):
        return [_own_tests(folder, stem), [str(folder / "test_protocol.py"), "-k", f"[{name}"]]
    sources = sorted((PACKAGE / "methods").glob("[!_]*.py"))
    users = [path.stem for path in sources if f"lond.methods.{stem} import" in path.read_text("utf-8")]
    suites = (_own_tests(folder, stem), sorted({test for user in users for test in _own_tests(folder, user)}))
    return [tests for tests in suites if tests]


def _own_tests(folder: Path, stem: str) -> list[str]:
    return [str(path) for path in sorted(folder.glob(f"test_{stem}*.py"))]


class _Mutated(MetaPathFinder):
    """Imports one module of the package with a change in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.path = PACKAGE / mutant.file
        parts = (PACKAGE / mutant.file).relative_to(PACKAGE.parent).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.tree = changed(self.path.read_text("utf-8"), mutant.place)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        tree = self.tree

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(tree, str(self.path), "exec")

        return spec_from_file_location(name, self.path, loader=Loader(name, str(self.path)))


def tried(mutant: Mutant) -> int:
    """Return whether the tests notice a change, in a process of its own that ends with it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for told in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(told, lambda *_: os._exit(ENDLESS))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(PATIENCE * SECONDS)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = NOTICED
    with contextlib.suppress(BaseException):
        import pytest

        sys.meta_path.insert(0, _Mutated(mutant))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:unraisableexception", f"--rootdir={ROOT}"]
        passed = all(pytest.main([*tests, *options]) == pytest.ExitCode.OK for tests in suites_of(mutant.file))
        code = UNNOTICED if passed else NOTICED
    os._exit(code)


def main(words: Sequence[str] | None = None) -> int:
    """Try the changes of the rooms and write what came of them."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=str(__doc__).partition(":")[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--most", type=int, default=ALL, help="changes of a room; all if left out")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--again", action="store_true", help="try only those that went unnoticed, after new tests")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(words)
    # Loaded once, before the processes divide: the package itself must be imported anew by each.
    for name in ("hypothesis", "scipy.stats", "torch.nn.functional", "torch.testing", "pytest"):
        import_module(name)
    gc.freeze()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    stored: dict[str, Any] = json.loads(asked.out.read_text("utf-8")) if asked.out.is_file() else {}
    for room in asked.rooms:
        if asked.again:
            before, left = stored[room], try_all(left_of(stored[room]))
            first = before.get("noticed_at_first", before["noticed"])
            stored[room] = summary(before["command"], before["changes"], left) | {"noticed_at_first": first}
        else:
            mutants = room_mutants(room, asked.most, asked.seed)
            drawn = "" if asked.most == ALL else f" --most {asked.most} --seed {asked.seed}"
            command = f"python -m tools.mutations --rooms {room}{drawn}"
            stored[room] = summary(command, len(mutants), try_all(mutants))
        print(f"{room}: {stored[room]['noticed']} of {stored[room]['changes']} changes noticed", flush=True)
        asked.out.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    return 0


def try_all(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return the changes that go unnoticed, and name them meanwhile."""
    left = []
    for mutant in mutants:
        if tried(mutant) == UNNOTICED:
            print(f"unnoticed: {mutant.file}:{mutant.line} {mutant.change}", flush=True)
            left.append(mutant)
    return left


def left_of(outcome: dict[str, Any]) -> list[Mutant]:
    """Return the stored changes that went unnoticed.

    Raises:
        SystemExit: the source has changed since, so they are other ones now.
    """
    found = [Mutant(**mutant) for mutant in outcome["unnoticed"]]
    for mutant in found:
        if mutant not in mutants_of((PACKAGE / mutant.file).read_text("utf-8"), mutant.file):
            sys.exit(f"error: {mutant.file} has changed since; try all changes of the room anew, without --again")
    return found


def summary(command: str, changes: int, left: Sequence[Mutant]) -> dict[str, Any]:
    """Return what is stored about a room."""
    return {
        "command": command,
        "changes": changes,
        "noticed": changes - len(left),
        "score": round(1 - len(left) / max(1, changes), 4),
        "unnoticed": [asdict(mutant) for mutant in left],
    }


if __name__ == "__main__":
    sys.exit(main())
