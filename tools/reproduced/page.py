"""The page of what a results store holds of the paper's tables and figures: ``python -m tools.reproduced.page``.

The same store always gives the same page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.paper import EXPERIMENTS
from lond.results.records import PaperScale
from lond.results.store import Unusable, scan
from tools.reproduced.blocks import block_of, stored_of

STORE, FIGURES, PAGE = Path("results/store"), Path("results/reproduce"), Path("docs/reproduced.md")
PICTURES = "images/reproduced"
"""Where the pictures lie, beside the page: links must not leave the documentation's folder."""

SHOWN: tuple[PaperScale, ...] = ("full", "frozen", "mini")
"""Scales on the page; runs on digits show that everything runs, and nothing else."""

HEAD = """# Comparison with the paper

<!-- Written by `make results` from the results store. Do not edit: run it again. -->

This page compares the runs in the [results store](results-store.md) with the paper's tables and figures.
`make results` writes the page from the store, and a test keeps the two in sync.
"""

EXPLAINED = """
*here* is the mean ± sample standard deviation over n training seeds.
The paper's numbers are at full scale.
At a smaller scale, `here - paper` reflects the scale as well as the method; ranks and directions are more informative.
Ranks are among the contenders (methods or detectors) that were run here; 1 is the best.
Results that are not stored yet are left out; [reproduce the paper](reproduce.md) explains how to run them.
If the test images include foreign ones, tables of accuracy also show the AUROC of each method's own score.
The paper has it only for NGC, LOND-DRS and detectors on SED.
"""

EMPTY = """
**The store holds no such runs yet** (runs at the scale `smoke` are not shown).
[Reproduce the paper](reproduce.md) explains how to make them.
"""


@dataclass(frozen=True)
class ReproducedPage:
    """A page, its pictures by name, and what could not be read."""

    text: str
    pictures: dict[str, Path] = field(hash=False)
    unusable: tuple[Unusable, ...] = ()


def make_page(store: Path, figures: Path) -> ReproducedPage:
    """Return the page of a store; one that is not there is empty.

    Args:
        store: folder with the records.
        figures: folder with what was drawn, ``<experiment>-<scale>/*.png``; need not be there.
    """
    records, unusable = scan(store) if store.is_dir() else ([], [])
    blocks, pictures = list[str](), dict[str, Path]()
    for experiment in EXPERIMENTS.values():
        for scale in SHOWN:
            name = f"{experiment.name}-{scale}"
            drawn = {f"{name}-{path.name}": path for path in sorted((figures / name).glob("*.png"))}
            block = block_of(stored_of(experiment, scale, records), [f"{PICTURES}/{picture}" for picture in drawn])
            if block:
                blocks.append(block)
                pictures |= drawn
    text = HEAD + (EXPLAINED + "\n" + "\n".join(blocks) if blocks else EMPTY)
    return ReproducedPage(text, pictures, tuple(unusable))


def write_page(page: ReproducedPage, path: Path) -> None:
    """Write a page with its pictures; pictures that are not on it any more are deleted.

    Raises:
        DataError: there is no folder for the page.
    """
    if not path.parent.is_dir():
        raise DataError(
            f"there is no folder {path.parent} for the page; start in the repository, or name another --out"
        )
    folder = path.parent / PICTURES
    for old in folder.glob("*.png"):
        if old.name not in page.pictures:
            old.unlink()
    for name, picture in page.pictures.items():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, picture.read_bytes())
    write_atomically(path, page.text)


def main(words: Sequence[str] | None = None) -> int:
    """Write the page from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.reproduced.page", description=str(__doc__).partition(":")[0])
    parser.add_argument("--store", type=Path, default=STORE, help=f"results store; {STORE} if left out")
    parser.add_argument("--figures", type=Path, default=FIGURES, help=f"what was drawn; {FIGURES} if left out")
    parser.add_argument("--out", type=Path, default=PAGE, help=f"the page; {PAGE} if left out")
    asked = parser.parse_args(words)
    if not asked.store.is_dir():
        print(f"error: there is no results store {asked.store}; the page is as it was", file=sys.stderr)
        return 2
    page = make_page(asked.store, asked.figures)
    for file in page.unusable:
        print(f"note: {file.path} is left out: {file.reason}", file=sys.stderr)
    try:
        write_page(page, asked.out)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {asked.out}, {len(page.pictures)} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
