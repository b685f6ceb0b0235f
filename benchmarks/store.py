"""How every benchmark ends: print the result and, if asked, write it."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import torch


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides the code."""
    return {"threads": torch.get_num_threads(), "torch": torch.__version__, "machine": platform.machine()}


def store(result: Any, path: Path | None) -> None:
    """Print a result as JSON, and write it to ``path`` if there is one."""
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
