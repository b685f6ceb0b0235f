"""Recipes: one method a file."""

from __future__ import annotations

from typing import Any

from lond.methods.base import Method, Survey, Task
from lond.methods.lond_drs import LondDrs, LondDrsSettings
from lond.methods.standard import Standard, StandardSettings

METHODS: dict[str, tuple[type[Any], type[Any]]] = {
    "lond-drs": (LondDrs, LondDrsSettings),
    "standard": (Standard, StandardSettings),
}
"""Name -> (method class, its settings class)."""

__all__ = ["METHODS", "LondDrs", "LondDrsSettings", "Method", "Standard", "StandardSettings", "Survey", "Task"]
