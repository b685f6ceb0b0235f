"""The example of docs/extend.md as a package of its own, used by the command line in processes of their own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from outside import install
from sklearn.datasets import load_digits

from .shown import blocks, commands, read

FILE = "docs/extend.md"
TINY = shlex.split("--epochs 2 --set net.width=0.125 --set train.max_steps=2 --threads 1 --accelerator cpu")

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the module that the page's blocks make up, with the entry points of its pyproject.toml."""
    folder = tmp_path_factory.mktemp("site")
    parts = [block.text for block in blocks(FILE) if block.text.startswith("# lond_example.py\n")]
    assert len(parts) == 4
    project = tomllib.loads(next(block.text for block in blocks(FILE) if block.language == "toml"))["project"]
    modules = {"lond_example": "\n".join(parts)}
    install(folder, project["name"], modules, project["entry-points"], project["version"])
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def call(place: Path, package: Path) -> Call:
    """Run a command with or without the package; the shown training has been run."""
    own = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]

    def run(*words: object, installed: bool = True) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([*own, *([str(package)] if installed else [])])
        return subprocess.run(
            [sys.executable, "-m", "lond.cli", *map(str, words)],
            cwd=place,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )

    def shown(start: str) -> list[str]:
        lines = [words for block in blocks(FILE) if block.language == "bash" for words in commands(block)]
        return next(words[1:] for words in lines if words[1] == start)

    trained = run(*shown("train"), *TINY)
    assert trained.returncode == 0, trained.stderr
    np.savez(place / "new.npz", x=(load_digits().images[:9] * 15).astype("uint8"))
    return run


def test_the_list_names_the_package(call: Call) -> None:
    out = call("list").stdout
    for name in ("trimmed", "centre", "tiny_cnn"):
        assert f"{name} (lond-example 0.1)" in out
    assert "example" not in call("list", installed=False).stdout


def test_the_folder_says_where_its_parts_come_from(call: Call, place: Path) -> None:
    parts = json.loads((place / "runs" / "trimmed" / "manifest.json").read_text())["outside"]
    found = {kind: (part["name"], part["class"], part["package"]) for kind, part in parts.items()}
    assert found == {
        "method": ("trimmed", "lond_example:Trimmed", "lond-example"),
        "backbone": ("tiny_cnn", "lond_example:tiny_cnn", "lond-example"),
    }


def test_commands_take_its_names(call: Call, place: Path) -> None:
    detected = call("detect", "runs/trimmed", "--only", "msp,centre")
    assert detected.returncode == 0, detected.stderr
    rows = [line.split()[1:4:2] for line in detected.stdout.splitlines() if re.search(r"centre|msp", line)]
    assert rows == [["msp", "-"], ["centre", "all"], ["centre", "clean"]]
    parts = json.loads((place / "runs" / "trimmed" / "detect" / "detectors.json").read_text())["outside"]
    assert {name: part["package"] for name, part in parts.items()} == {"centre": "lond-example"}
    predicted = call("predict", "runs/trimmed", "new.npz", "--out", "new.csv")
    assert predicted.returncode == 0, predicted.stderr


@pytest.mark.parametrize("words", [["evaluate"], ["detect"], ["predict", "new.npz"]], ids=lambda words: words[0])
def test_without_the_package_loading_says_what_is_missing(words: list[str], call: Call) -> None:
    command, *rest = words
    told = call(command, "runs/trimmed", *rest, installed=False)
    assert told.returncode == 2
    assert " ".join(told.stderr.split()) in read(FILE)


def test_without_the_package_its_names_are_unknown(call: Call) -> None:
    told = call("train", "--preset", "digits", "--method", "trimmed", "--out", "runs/other", installed=False)
    assert told.returncode == 2
    assert "there is no method 'trimmed'" in told.stderr
