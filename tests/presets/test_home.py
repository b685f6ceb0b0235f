"""One home: a configuration is made and changed in ``presets`` alone, and is what it always was."""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

import pytest

import lond
from lond.config import to_dict
from lond.methods import METHODS
from lond.paper import EXPERIMENTS
from lond.paper.reproduce.configs import scaled_config
from lond.paper.reproduce.scales import SCALES, why_left_out
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.changes import with_epochs
from lond.presets.features import on_frozen

ROOT = Path(lond.__file__).parent
KNOWN = json.loads(Path(__file__).with_name("identities.json").read_text(encoding="utf-8"))
ELSEWHERE = {
    "config.py": "reads a configuration from plain values",
    "results/identity.py": "compares a configuration with the defaults",
}
"""Files outside of ``presets`` that make one, and why."""


def test_configurations_are_made_and_changed_in_presets() -> None:
    makers = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                text = ast.unparse(node)
                if text.startswith(("RunConfig(", "replace(config,", "dataclasses.replace(config,")):
                    makers.add(path.relative_to(ROOT).as_posix())
    assert {name for name in makers if not name.startswith("presets/")} == set(ELSEWHERE)


def short_hash(*contents: object) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:10]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_of_every_method_are_what_they_were(name: str) -> None:
    """Each hash is over the preset, its run on frozen features, and the same at another length."""
    for method, known in KNOWN["presets"][name].items():
        config = preset(name, method)
        made = (config, on_frozen(config), on_frozen(config, 5, 400), with_epochs(config, 7), with_epochs(config, 100))
        assert short_hash(*map(to_dict, made)) == known, method


def test_cells_of_the_paper_are_what_they_were() -> None:
    for key, known in KNOWN["cells"].items():
        name, scale = key.split()
        cells = [cell for cell in EXPERIMENTS[name].cells if not why_left_out(cell, scale)]
        assert short_hash(*(to_dict(scaled_config(cell, scale)) for cell in cells)) == known, key


def test_every_preset_and_scale_is_known() -> None:
    assert KNOWN["presets"].keys() >= PRESETS.keys()
    assert all(methods.keys() <= METHODS.keys() for methods in KNOWN["presets"].values())
    assert len(KNOWN["cells"]) == len(SCALES) * len(EXPERIMENTS)
