"""Every example runs as it stands, in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SAYS = {
    "audit_embeddings.py": "wrong labels are found",
    "audit_folder.py": "images stay",
    "compare_methods.py": "co-teaching  accuracy",
    "own_loop.py": "AUROC of the energy score",
    "run_onnx.py": "largest difference below 1e-5: True",
    "serve_onnx.py": "refused with status 400",
    "train_and_predict.py": "True",
}
"""Example -> a part of what it prints at its end."""


def test_every_example_is_listed() -> None:
    scripts = {path.name for path in FOLDER.glob("*.py")}
    assert scripts == set(SAYS)
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}]({name})" in listed for name in scripts)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_examples_run(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / name)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
