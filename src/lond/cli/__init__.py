"""Command line: parsing and printing only, one module per group of commands."""

from __future__ import annotations

import os

# Spinning OpenMP threads slow everything down as soon as another process is busy; must be set before torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from lond.cli.commands import app, main

__all__ = ["app", "main"]
