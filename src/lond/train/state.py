"""The two newest checkpoints of a run: written so that one always loads, read so that none is taken for another's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lond.errors import DamagedFileError, DataError, FullDiskError
from lond.io.json_files import plain
from lond.io.plain_values import flat
from lond.train.checkpoint import SavedState, read_state, save_state

CHECKPOINT = "checkpoint.safetensors"

PREVIOUS = "checkpoint.previous.safetensors"
"""The checkpoint before the newest, for the case that the newest is damaged."""

HOLDS = "checkpoint"
NEEDED = ("method", "extra", "optimiser", "runtime", "history")
"""Entries of the state."""

RUNTIME = "runtime"
"""Entry of an identity that may differ: precision and number of processes."""


def save_checkpoint(folder: Path, state: dict[str, Any], identity: Mapping[str, Any]) -> None:
    """Write the newest checkpoint of a run and keep the one before; on a full disk that one is given up.

    Raises:
        DataError: the disk is full or the like; the newest checkpoint so far is untouched.
    """
    newest, previous = folder / CHECKPOINT, folder / PREVIOUS
    if newest.is_file():
        _keep(newest, previous)
    try:
        save_state(newest, state, holds=HOLDS, identity=identity)
    except FullDiskError:
        # Once it is gone there may be room, as it was before the newest one grew old.
        previous.unlink(missing_ok=True)
        save_state(newest, state, holds=HOLDS, identity=identity)


def _keep(newest: Path, previous: Path) -> None:
    """Give the newest checkpoint a second name, which it keeps when it is replaced."""
    passing = previous.with_name(previous.name + ".tmp")
    try:
        passing.unlink(missing_ok=True)
        os.link(newest, passing)
        passing.replace(previous)
    except OSError:
        # Some file systems know no second names; there the newest one is all there is.
        with suppress(OSError):
            passing.unlink(missing_ok=True)


def newest_checkpoint(folder: Path | None) -> Path | None:
    """Return the file that a run would go on from, if there is one."""
    paths = [] if folder is None else [folder / CHECKPOINT, folder / PREVIOUS]
    return next((path for path in paths if path.is_file()), None)


def read_checkpoint(folder: Path, identity: Mapping[str, Any], *, say: bool = True) -> SavedState | None:
    """Read the newest checkpoint that is whole; None if there is no checkpoint at all.

    Args:
        folder: of the run.
        identity: what the state must belong to; entries that only one side knows are not compared.
        say: whether to warn where the newest one is damaged, or was made in another precision.

    Raises:
        DamagedFileError: there is none that is whole.
        DataError: it is of another run, or of a newer version.
    """
    problem: DamagedFileError | None = None
    for path in (folder / CHECKPOINT, folder / PREVIOUS):
        if not path.is_file():
            continue
        try:
            saved = read_state(path, holds=HOLDS, needed=NEEDED)
        except DamagedFileError as error:
            problem = problem or error
            continue
        check_identity(path, saved.identity, identity)
        if problem is not None and say:
            warnings.warn(
                f"{problem}; going on from the one before it, after {len(saved.state['history'])} epochs", stacklevel=2
            )
        return saved
    if problem is not None:
        raise DamagedFileError(f"{problem}; delete it to start anew") from problem
    return None


def check_identity(path: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse the file of another run.

    Raises:
        DataError: it is of one; the message names some settings that differ.
    """
    differing = _differing(stored, wanted)
    if differing:
        named = ", ".join(differing[:5]) + (", ..." if len(differing) > 5 else "")
        raise DataError(
            f"{path} belongs to another run (it differs in {named}); put the run's own file back, or delete it"
        )


def told_change(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how the way of computing differs from the one before, "" if it does not or is not known."""
    before = stored.get(RUNTIME, {})
    changed = {name: value for name, value in now.items() if before.get(name, value) != value}
    return "; ".join(f"{name} {before[name]} before, {value} now" for name, value in changed.items())


def _differing(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    first, second = flat(plain(stored)), flat(plain(wanted))
    shared = [name for name in second if name in first and not name.startswith(f"{RUNTIME}.")]
    return sorted(name.removeprefix("settings.") for name in shared if first[name] != second[name])
