"""The documentation is written in short lines and plain words, and names the same extras everywhere."""

from __future__ import annotations

import re
import tomllib

import pytest

from .shown import documents, prose, read

LONGEST = 160
"""Characters of a line of prose, which holds one sentence; rows of tables may be longer."""

GENERATED = {"docs/reproduced.md", "docs/architecture.md"}

COINED = {
    r"\ba row an? ": "one row per",
    r"\bone's own\b": "your own",
    r"\bwhat it says of\b": "what it says about",
    r"\b(told|tells?|telling) apart\b": "distinguish",
    r"\btestimony\b": "evidence",
    r"\ban image and epoch\b": "per image and epoch",
    r"\bone value an? (sample|epoch|image)\b": "one value per",
    r"\bone folder a class\b": "one folder per class",
    r"(?<!`)\bwitness\b(?!`)": "only as the name of a setting",
    r"\bgo(es)? on where\b": "resume",
    r"\bif left out\b": "by default",
    r"\bthe rooms?\b": "component",
    r"\b(step|row|value|file)s? an? (class|epoch|image|phase|run|step)\b": "per",
}
"""Pattern -> what a reader would expect in its place."""

WRITTEN = [file for file in documents() if file not in GENERATED]


def lines_of_prose(file: str) -> list[str]:
    text = re.sub(r"^\$\$\n.*?^\$\$$", "", prose(file), flags=re.M | re.S)
    return [line for line in text.splitlines() if not line.lstrip().startswith(("|", "<"))]


@pytest.mark.parametrize("file", WRITTEN)
def test_lines_are_short(file: str) -> None:
    long = [line for line in lines_of_prose(file) if len(line) > LONGEST]
    assert not long, f"{file}: say it in shorter sentences, one per line: {long}"


@pytest.mark.parametrize("file", WRITTEN)
def test_words_are_those_of_the_field(file: str) -> None:
    wrong = [
        f"{found[0]!r}: write {better!r}"
        for pattern, better in COINED.items()
        if (found := re.search(pattern, prose(file), re.I))
    ]
    assert not wrong, f"{file}: {wrong}"


def shown_extras(file: str) -> dict[str, str]:
    """Return extra -> what it adds, from the table of extras of a document."""
    table = re.search(r"^\| extra \| adds \|\n\|---\|---\|\n((?:\|.*\n)+)", read(file), re.M)
    assert table, f"{file} has no table of extras"
    cells = [row.strip("| ").split(" | ") for row in table[1].splitlines()]
    return {name: adds for names, adds in cells for name in re.findall(r"`([\w-]+)`", names)}


EXPLAINED = {"pretrained": "adds", "audit": "OpenVINO", "export": "ONNX"}
"""Extras that the README installs, and how it goes on to explain them."""


def test_extras_are_the_same_everywhere() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert shown_extras("docs/index.md").keys() == extras.keys()
    installed = re.findall(r"\[([\w,-]+)\]'", read("README.md"))
    assert {name for names in installed for name in names.split(",")} == {"pretrained", "audit", "export"}
    assert all(f"`{name}` {word}" in read("README.md") for name, word in EXPLAINED.items())


def test_installing_is_shown_the_same_way() -> None:
    shown = [re.findall(r"^pip .*$", read(file), re.M) for file in ("README.md", "docs/index.md")]
    assert shown[0] == shown[1]
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert [line for line in shown[0] if f"lond-{version}-py3-none-any.whl[" in line]
    assert [line for line in shown[0] if line.startswith("pip install -e")]


def test_the_readme_is_short() -> None:
    assert len(read("README.md").splitlines()) <= 100
