from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tools.architecture import (
    DRAWING,
    PAGE,
    SOURCE,
    cycles,
    drawing,
    imports_of,
    levels,
    longest_chain,
    module_graph,
    modules_of,
    page,
    reduced,
    room_graph,
    room_of,
)


def test_the_drawing_and_the_page_are_up_to_date() -> None:
    rooms = room_graph(module_graph(SOURCE))
    assert DRAWING.read_text(encoding="utf-8") == drawing(rooms), "run: make architecture"
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make architecture"


def test_the_drawing_shows_every_room_once() -> None:
    rooms = room_graph(module_graph(SOURCE))
    shown = ElementTree.fromstring(drawing(rooms))
    names = [text.text for text in shown.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(names) == sorted(rooms)


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("import os.path\nfrom lond import runs\n\ndef f():\n    from lond.types import Samples\n")
    assert imports_of(path, {"lond", "lond.runs", "lond.types"}) == {"os.path", "lond.runs", "lond.types"}
    assert imports_of(path, {"lond.runs"}, on_loading=True) == {"os.path", "lond.runs"}
    path.write_text("from . import two\n")
    with pytest.raises(ValueError, match="relative import"):
        imports_of(path, set())


def test_levels_cycles_and_what_follows_from_others() -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"c", "e"}, "e": {"d"}}
    assert levels(graph) == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 3}
    assert cycles(graph) == [["d", "e"]]
    assert reduced(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c", "e"}, "e": {"d"}}
    assert longest_chain(graph) == 4


def test_modules_and_rooms_of_the_package() -> None:
    modules = modules_of(SOURCE)
    assert {"lond", "lond.errors", "lond.audit"} <= modules.keys()
    assert room_of("lond.audit.page.write") == "audit" and room_of("lond") == "lond"
