"""Lazy imports: the public names of a package are known without importing it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, public: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package whose names are imported when they are first used.

    Where a name comes from is read from the package's own ``if TYPE_CHECKING:``, which type checkers read, too.

    Args:
        package: the package's ``__name__``.
        public: the package's ``__all__``, which is what ``dir`` lists.
    """
    homes = dict(_type_checking_imports(package))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        # The next time the name is found without asking.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(public)

    return load, names


def keys_of(module: str, table: str) -> list[str]:
    """Return the keys of a dictionary that a module spells out at its top, without importing the module.

    If they are not all texts in the source, the module is imported.
    """
    for node in _tree(module).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == table:
            written = node.value.keys if isinstance(node.value, ast.Dict) else [None]
            keys = [key.value for key in written if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            if len(keys) == len(written):
                return keys
    return list(getattr(import_module(module), table))


def _type_checking_imports(package: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of every import under ``if TYPE_CHECKING:``."""
    for block in _tree(package).body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield from ((alias.name, node.module) for alias in node.names)


def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


def _file(module: str) -> Path:
    """Return the source file of a module; neither it nor the packages it is in are imported."""
    if module in sys.modules:
        return Path(str(sys.modules[module].__file__))
    parent, _, name = module.rpartition(".")
    places = [_file(parent).parent / f"{name}.py", _file(parent).parent / name / "__init__.py"]
    return places[0] if places[0].is_file() else places[1]
