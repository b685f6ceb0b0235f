"""What happens on a machine of the cluster: it becomes like the one that asked, then does its piece of work."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from lond.errors import ConfigError


@dataclass(frozen=True)
class Asker:
    """The process that hands out the work: what a worker must have in common with it."""

    version: str
    folder: str
    """Where relative paths start."""
    paths: tuple[str, ...]
    """Where modules are looked for, those of a user's own methods among them."""


def carry(packed: bytes, asker: Asker, shared: Sequence[Any] = ()) -> Any:
    """Do a packed piece of work, a function and its arguments, as if in the folder of the one that asked.

    Args:
        packed: made by cloudpickle; opened only when this process is prepared.
        asker: the process that asked.
        shared: further arguments, which many pieces of work have in common.

    Raises:
        ConfigError: this machine has another version of the package, or does not see the folder.
    """
    from ray import cloudpickle

    become_like(asker)
    function, arguments = cloudpickle.loads(packed)
    return function(*arguments, *shared)


def become_like(asker: Asker) -> None:
    """Take over folder and module paths.

    Raises:
        ConfigError: this machine has another version of the package, or does not see the folder.
    """
    here, installed = platform.node(), version("lond")
    if installed != asker.version:
        raise ConfigError(f"machine {here} has lond {installed}, not {asker.version}; install the same everywhere")
    try:
        os.chdir(asker.folder)
    except OSError as error:
        raise ConfigError(
            f"machine {here} does not see {asker.folder}; all machines of the cluster need one shared disk"
        ) from error
    sys.path += [path for path in asker.paths if path not in sys.path]
