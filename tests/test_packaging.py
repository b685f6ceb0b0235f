"""The wheel and the source archive, built from the tree and tried outside of it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import lond

ROOT = Path(__file__).parents[1]
COPIED = ("src", "pyproject.toml", "README.md", "LICENSE")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("build") is None or importlib.util.find_spec("setuptools") is None,
    reason="no build or setuptools: pip install 'lond[test]' to test the packages",
)


def run(*command: object, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source archive; the wheel is made from the archive."""
    folder = tmp_path_factory.mktemp("packages")
    tree = folder / "tree"
    tree.mkdir()
    # Git knows what belongs to the project; without it (in an unpacked archive) the parts that are packed.
    listed = subprocess.run(["git", "ls-files", *COPIED], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = listed.split() or [str(p.relative_to(ROOT)) for n in COPIED for p in [ROOT / n, *(ROOT / n).rglob("*")]]
    for name in names:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, tree, folder=folder)
    return folder


def sources() -> set[str]:
    package = ROOT / "src/lond"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {f"lond/{path.relative_to(package).as_posix()}" for path in files}


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.startswith(f"lond-{lond.__version__}-py3")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert any(name.endswith("page.html") for name in names)


def test_the_wheel_works_outside_the_tree(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    place = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place, wheel)
    run(*pip, folder=tmp_path)
    shown = run(sys.executable, "-m", "lond.cli", "--help", folder=tmp_path, PYTHONPATH=str(place))
    assert "audit" in shown and "reproduce" in shown
    code = (
        "import numpy as np, lond; from lond.audit import AuditSettings, audit; print(lond.__file__)\n"
        "values = np.random.default_rng(0).normal(size=(40, 8)).astype('float32')\n"
        "np.savez('set.npz', embeddings=values, y=np.arange(40) % 2)\n"
        "audit('set.npz', settings=AuditSettings(epochs=2, folds=2, map='none')).save('audit')"
    )
    assert str(place) in run(sys.executable, "-W", "ignore", "-c", code, folder=tmp_path, PYTHONPATH=str(place))
    # The page is put together from the assets of the installed package.
    assert (tmp_path / "audit/audit.html").stat().st_size > 50_000


def test_the_source_archive_holds_what_a_build_needs(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    assert names >= {f"src/{name}" for name in sources()}
    assert names >= {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"}
    assert not any(name.startswith(("tools/", "results/")) for name in names)


def test_the_citation_names_this_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == lond.__version__
    assert citation["license"] == "Apache-2.0"
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]] == [
        "Pan",
        "Gao",
        "Zhou",
        "Wang",
    ]
