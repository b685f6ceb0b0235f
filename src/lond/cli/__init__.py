"""Command line: parsing and printing only, one module per group of commands."""

from __future__ import annotations

from lond.cli.commands import app, main

__all__ = ["app", "main"]
