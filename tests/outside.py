"""Packages as an installer leaves them, written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path,
    package: str,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
    version: str = "0.1",
) -> None:
    """Write modules and the metadata of a distribution into a folder, which must then be put on the path.

    Args:
        folder: made if there is none.
        package: name of the distribution.
        modules: module -> its source.
        entry_points: group -> name -> "module:object".
        version: of the distribution.
    """
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in points.items())])
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
