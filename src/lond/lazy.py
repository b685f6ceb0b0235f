"""What a package offers, known without importing it: importing ``lond`` and listing names stays cheap."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
    """Return the keys of a dictionary that a module defines at its top, without importing the module if possible.

    The keys may be spelled out or come from comprehensions over other literals of the module.
    """
    literals: dict[str, Any] = {"__builtins__": {}}
    for name, value in _assignments(module):
        if name == table:
            keys = ast.fix_missing_locations(ast.Expression(_KeysOnly().visit(value)))
            with suppress(AttributeError, NameError, TypeError):
                return list(eval(compile(keys, module, "eval"), literals))
        with suppress(TypeError, ValueError):
            literals[name] = ast.literal_eval(value)
    return list(getattr(import_module(module), table))


class _KeysOnly(ast.NodeTransformer):
    """Put None in the place of all values of dictionaries, as they may need what is not imported."""

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Keep the keys, and what is unpacked."""
        pairs = list(zip(node.keys, node.values, strict=True))
        values = [self.visit(value) if key is None else ast.Constant(None) for key, value in pairs]
        return ast.Dict(node.keys, values)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """Keep the keys."""
        return ast.DictComp(node.key, ast.Constant(None), node.generators)


def _assignments(module: str) -> Iterator[tuple[str, ast.expr]]:
    for node in _tree(module).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


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
