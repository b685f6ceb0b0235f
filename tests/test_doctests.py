"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from tools.architecture import SOURCE, modules_of

import lond

WITH_EXAMPLES = [name for name, path in modules_of(SOURCE).items() if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", [*WITH_EXAMPLES, "tools.architecture"])
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted and not outcome.failed


def test_the_names_of_the_top_have_examples() -> None:
    named = [getattr(lond, name) for name in lond.__all__]
    public = [
        entry for entry in named if callable(entry) and not (inspect.isclass(entry) and issubclass(entry, Exception))
    ]
    assert len(public) > 5
    lacking = [entry.__name__ for entry in public if ">>>" not in (entry.__doc__ or "")]
    assert not lacking
