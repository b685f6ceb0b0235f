"""One name, one meaning: no two public classes or type aliases of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.architecture import SOURCE

SHARED: dict[str, str] = {}
"""Name -> why several modules may give it a meaning."""


def meanings_in(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and meaning of every public class and type alias; equal aliases have one meaning, classes never."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            yield statement.name, str(path)
        elif isinstance(statement, ast.Assign) and isinstance(name := statement.targets[0], ast.Name):
            is_constant = name.id.isupper()
            if name.id[0].isupper() and not is_constant:
                yield name.id, ast.unparse(statement.value)


def test_no_two_public_classes_share_a_name() -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for name, meaning in meanings_in(path):
            meanings[name].add(meaning)
    shared = {name: sorted(found) for name, found in meanings.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if name not in SHARED} == {}
    assert set(SHARED) <= set(shared), "an exception that is no longer needed"
