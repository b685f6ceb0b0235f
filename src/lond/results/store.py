"""A store: a folder with one small JSON file per run."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.io.json_files import load_object
from lond.io.lock import locked
from lond.results.differences import TAGS, Difference, differences
from lond.results.records import DetectorRecord, Machine, Record
from lond.results.text import from_object, to_text

SHOWN = 5
"""Differences that a message names."""


@dataclass(frozen=True)
class Written:
    """Path of a record and the outcome of writing it; "completed" means that missing information was added.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> write("store", record).outcome
        'new'
    """

    path: Path
    outcome: Literal["new", "kept", "completed", "replaced"]


class ContradictionError(DataError):
    """A store holds another result of the same settings, seeds and data."""

    def __init__(self, message: str, differing: str) -> None:
        """Keep what differs, for those who replace it."""
        super().__init__(message)
        self.differing = differing


@dataclass(frozen=True)
class Unusable:
    """File of a store that could not be read, and the reason.

    Examples:
        >>> Unusable(Path("store/x.json"), "not JSON").reason
        'not JSON'
    """

    path: Path
    reason: str


def read(store: Path | str) -> list[Record]:
    """Return all records, by name; warn about each file that cannot be read.

    Raises:
        DataError: there is no such folder.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> _ = write("store", record)
        >>> len(read("store"))
        1
    """
    records, unusable = scan(store)
    for file in unusable:
        warnings.warn(f"{file.path} is left out: {file.reason}", stacklevel=2)
    return records


def scan(store: Path | str) -> tuple[list[Record], list[Unusable]]:
    """Return all records, by name, and the files that cannot be read.

    Raises:
        DataError: there is no such folder.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> _ = write("store", record)
        >>> records, unusable = scan("store")
        >>> len(records), unusable
        (1, [])
    """
    folder = Path(store)
    if not folder.is_dir():
        raise DataError(f"there is no results store {folder}; make one with: lond results add RUN --store {folder}")
    records, unusable = dict[str, Record](), []
    for path in sorted(folder.glob("*.json")):
        try:
            record = load(path)
        except DataError as error:
            unusable.append(Unusable(path, str(error)))
            continue
        if record.identity in records:
            unusable.append(Unusable(path, f"a second record of {records[record.identity].name}"))
        else:
            records[record.identity] = record
    return sorted(records.values(), key=lambda record: record.name), unusable


def load(path: Path) -> Record:
    """Read one file.

    Raises:
        DataError: it cannot be read; the message says why.
    """
    return from_object(load_object(path))


def named_as_stored(store: Path | str, record: Record, given: Collection[str] = ()) -> Record:
    """Return a record with the tags under which a store holds its run, but for those that were given, not guessed."""
    path = next(iter(sorted(Path(store).glob(f"*-{record.identity}.json"))), None)
    try:
        stored = load(path) if path else record
    except DataError:
        return record
    kept = {name: getattr(stored, name) for name in TAGS if name not in given}
    changes = record.changes if "preset" in given else stored.changes
    return replace(record, **kept, changes=changes)


def write(store: Path | str, record: Record, *, replace: bool = False) -> Written:
    """Write a record atomically. Writing the same run again only adds missing information.

    Args:
        store: a folder, made if there is none.
        record: a finished run.
        replace: put the record in the place of a different result of the same settings, seeds and data.

    Raises:
        ContradictionError: the store holds such a result, and it is not to be replaced.
        DataError: the store is no folder, or the stored file of this run cannot be read.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> write("kept", record).outcome, write("kept", record).outcome
        ('new', 'kept')
    """
    folder = Path(store)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file, not a folder; choose another place for the store")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        path = folder / f"{record.name}.json"
        old = next(iter(sorted(folder.glob(f"*-{record.identity}.json"))), None)
        if old is None:
            _put(path, record)
            return Written(path, "new")
        if replace:
            _put(path, record)
            if old != path:
                old.unlink()
            return Written(path, "replaced")
        stored = _stored(old)
        conflicts = contradictions(stored, record)
        if conflicts:
            raise _refusal(folder, stored, record, conflicts)
        completed = _completed(stored, record)
        if completed == stored:
            return Written(old, "kept")
        _put(old, completed)
        return Written(old, "completed")


def contradictions(stored: Record, record: Record) -> list[Difference]:
    """Return metrics and tags of the same run that contradict each other; what one of them lacks does not."""
    both = [entry for entry in differences(stored, record) if entry.kind == "metric" or entry.key in TAGS]
    detectors = {detector.name for held in (stored, record) for detector in held.detectors}
    return [
        entry
        for entry in both
        if not (entry.key in TAGS and "" in (entry.first, entry.second))
        and not (entry.key.partition(".")[0] in detectors and None in (entry.first, entry.second))
    ]


def _stored(path: Path) -> Record:
    try:
        return load(path)
    except DataError as error:
        raise DataError(f"{path} holds this run already, but is {error}; delete it and start again") from error


def _refusal(folder: Path, stored: Record, record: Record, conflicts: list[Difference]) -> ContradictionError:
    facts = [entry for entry in differences(stored, record) if entry.kind == "fact" and entry.key not in TAGS]
    more = f" and {len(conflicts) - SHOWN} more" if len(conflicts) > SHOWN else ""
    what = "; ".join(map(str, conflicts[:SHOWN])) + more
    around = f" (beside it: {'; '.join(map(str, facts[:SHOWN]))})" if facts else ""
    return ContradictionError(
        f"{folder} holds another result of the same settings, seeds and data, {stored.name}: {what}{around}. "
        f"Nothing was written; if the new one is right: lond results add RUN_FOLDER --store {folder} --replace",
        f"{stored.name}: {what}{around}",
    )


def _completed(stored: Record, record: Record) -> Record:
    """Return the stored record with what only the new one knows."""
    machine = {
        name: value if value is not None else getattr(record.machine, name)
        for name, value in vars(stored.machine).items()
    }
    tags = {name: getattr(stored, name) or getattr(record, name) for name in TAGS}
    return replace(
        stored,
        **tags,
        changes=stored.changes if stored.preset else record.changes,
        machine=Machine(**machine),
        finished=stored.finished or record.finished,
        detectors=_joined(stored.detectors, record.detectors),
    )


def _joined(stored: tuple[DetectorRecord, ...], new: tuple[DetectorRecord, ...]) -> tuple[DetectorRecord, ...]:
    """Return all detectors; one that failed gives way to one that did not."""
    held = {(detector.name, detector.fitted_on): detector for detector in stored}
    for detector in new:
        place = (detector.name, detector.fitted_on)
        if place not in held or (held[place].problem and not detector.problem):
            held[place] = detector
    return tuple(held.values())


def _put(path: Path, record: Record) -> None:
    write_atomically(path, to_text(record))
