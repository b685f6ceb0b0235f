from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from lond.cli.commands import HOMES
from lond.lazy import keys_of

HOUSE = """
from typing import TYPE_CHECKING
from lond.lazy import lazy_names
if TYPE_CHECKING:
    from lazy_house.cellar import gone
    from lazy_house.room import there
here, __all__ = 1, ["there", "here", "gone"]
__getattr__, __dir__ = lazy_names(__name__, __all__)
"""

USER = """
import lond, lond.audit, lond.paper, lond.results
from lond import LondClassifier, RunConfig, load_run, preset

reveal_type(LondClassifier.load("folder"))
reveal_type(preset("digits"))
reveal_type(lond.FOREIGN)
reveal_type(lond.audit.read_audit)
reveal_type(lond.results.record_of)
reveal_type(lond.paper.EXPERIMENTS)
"""


def test_a_lazy_name_loads_its_home_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazy_house").mkdir()
    (tmp_path / "lazy_house" / "__init__.py").write_text(HOUSE)
    (tmp_path / "lazy_house" / "room.py").write_text("there, hidden = object(), 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    house = import_module("lazy_house")
    assert dir(house) == ["gone", "here", "there"] and house.here == 1
    assert "lazy_house.room" not in sys.modules
    first = house.there
    assert first is house.there is sys.modules["lazy_house.room"].there
    with pytest.raises(AttributeError, match="module 'lazy_house' has no attribute 'hidden'"):
        _ = house.hidden
    with pytest.raises(ModuleNotFoundError, match=r"lazy_house\.cellar"):
        _ = house.gone


@pytest.mark.parametrize("title", HOMES)
def test_the_keys_are_those_of_the_imported_dictionary(title: str) -> None:
    module, table = HOMES[title]
    assert keys_of(module, table) == list(getattr(import_module(module), table))


@pytest.mark.parametrize(
    ("source", "loaded"),
    [
        ("import missing_module\nT: dict[str, int] = {'a': missing_module.x, 'b': 1}", False),
        ("T: dict[str, int] = {**{'a': 1}, 'b': 2}", True),
        ("T: dict[str, int] = {name: 1 for name in ('a', 'b')}", True),
        ("T = dict(a=1, b=2)", True),
    ],
)
def test_a_module_is_imported_only_if_its_source_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, loaded: bool
) -> None:
    for name in ("key_house", "key_house.table"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "key_house").mkdir()
    (tmp_path / "key_house" / "__init__.py").touch()
    (tmp_path / "key_house" / "table.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import_module("key_house")
    assert keys_of("key_house.table", "T") == ["a", "b"]
    assert ("key_house.table" in sys.modules) == loaded


@pytest.mark.slow
def test_a_type_checker_knows_the_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml")]
    command += ["--cache-dir", str(root / ".mypy_cache"), str(tmp_path / "user.py")]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert shown.returncode == 0, shown.stdout
    revealed = [line.partition("Revealed type is ")[2] for line in shown.stdout.splitlines() if "Revealed" in line]
    assert len(revealed) == 6
    assert not [kind for kind in revealed if kind.strip('"') == "Any"]
    assert "lond.estimator.LondClassifier" in revealed[0]
