"""Importing the package keeps waiting threads from spinning, unless the user wants them to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_do_not_spin(given: str | None, found: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {} if given is None else {"OMP_WAIT_POLICY": given}
    code = "import lond, os, sys; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [found, "False"], "PyTorch reads it when it is loaded"
