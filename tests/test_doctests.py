"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from tools.architecture import SOURCE, modules_of

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
WITH_EXAMPLES = [name for name, path in modules_of(SOURCE).items() if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", [*WITH_EXAMPLES, "tools.architecture", "tools.site_hooks"])
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted and not outcome.failed


def described_on(page: Path) -> list[type | FunctionType]:
    """Return the classes and functions that a page of the reference describes; exceptions need no example."""
    found: list[type | FunctionType] = []
    modules = modules_of(SOURCE)
    for name in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M):
        if name not in modules:
            room, _, last = name.rpartition(".")
            found.append(getattr(import_module(room), last))
            continue
        module = import_module(name)
        own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == name]
        found += [getattr(module, key) for key in getattr(module, "__all__", own) if not key.startswith("_")]
    return [one for one in found if isinstance(one, (type, FunctionType)) and not is_exception(one)]


def is_exception(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, Exception)


PAGES = sorted(path for path in REFERENCE.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_that_the_reference_describes_has_an_example(page: Path) -> None:
    described = described_on(page)
    assert described
    lacking = [f"{one.__module__}.{one.__name__}" for one in described if ">>>" not in (one.__doc__ or "")]
    assert not lacking, f"add a section Examples: to the docstrings of {lacking}"


def test_examples_stand_in_sections_that_the_site_renders() -> None:
    """Bare prompts become nested quotations in Markdown."""
    for name in WITH_EXAMPLES:
        path = modules_of(SOURCE)[name]
        text = path.read_text(encoding="utf-8")
        bare = re.findall(r"^ *(?!Examples:)\S.*\n\n *(>>> .*)$", text, re.M)
        assert not bare, f"{path.name}: {bare}"
