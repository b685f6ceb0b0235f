"""Torture the commands and readers, and store what happened.

    python -m benchmarks.torture.run --out results/torture.json

Takes about half an hour on two cores; ``make test`` runs a short version of every part.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import ray_cluster
from benchmarks.torture import full_disk, kills, ranks, readers
from benchmarks.torture.world import commands, make_world

from lond.io.json_files import read_json, write_json

PARTS = ("kills", "files", "disk", "ranks", "nodes")


def measure(part: str, folder: Path, *, count_kills: int, files: int) -> dict[str, Any]:
    """Return what came of one part."""
    world = folder / "world"
    make_world(world)
    if part == "kills":
        return kills.torture(commands(world), folder / "kills", count_kills)
    if part == "files":
        return readers.torture(folder / "files", files)
    if part == "ranks":
        return ranks.torture(world, folder / "ranks")
    if part == "nodes":
        return ray_cluster.measure(folder / "nodes", nodes=3, runs=4, epochs=5)
    return full_disk.torture(commands(world), folder / "disk")


def main() -> None:
    """Run the parts asked for and write them beside those that the file holds already."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/torture.json"))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--files", type=int, default=40, help="damaged versions of every kind of file")
    options = parser.parse_args()
    stored = read_json(options.out) if options.out.is_file() else {}
    for part in options.parts.split(","):
        with tempfile.TemporaryDirectory() as folder:
            stored[part] = measure(part, Path(folder), count_kills=options.kills, files=options.files)
        stored["command"] = "python -m benchmarks.torture.run"
        stored["versions"] = {name: version(name) for name in ("lond", "torch", "numpy")} | {
            "python": platform.python_version()
        }
        write_json(options.out, stored)
        print(part, {key: value for key, value in stored[part].items() if key != "list"})


if __name__ == "__main__":
    main()
