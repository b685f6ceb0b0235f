"""What a reader must know about stored runs: settings of the machine, versions, data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lond.results.records import Record
from lond.results.tables import Column, Table

HASH = 12
"""Digits of a hash that are shown."""


def facts_of(records: Sequence[Record]) -> list[str]:
    """Return sentences about runs: how many, how long, on what, with which packages."""
    seeds = sorted({record.seeds.training for record in records})
    noise = sorted({record.seeds.noise for record in records if record.seeds.noise is not None})
    drawn = f"; seed of the noise: {_joined(noise)}" if noise else ""
    return [
        f"{len(records)} {'run' if len(records) == 1 else 'runs'}; training seeds: {_joined(seeds)}{drawn}",
        f"epochs: {_joined(sorted({record.epochs for record in records}))}; metrics are means over the last "
        f"{_joined(sorted({record.mean_over_last for record in records}))}, and for detectors those of the last model",
        f"machine: {'; or '.join(sorted({_machine(record) for record in records}))}",
        f"versions: {'; or '.join(sorted({_versions(record) for record in records}))}",
    ]


def _machine(record: Record) -> str:
    machine = record.machine
    parts = {"threads": machine.threads, "precision": machine.precision, "processes": machine.processes}
    told = [machine.device or "", *(f"{name} {value}" for name, value in parts.items() if value is not None)]
    return ", ".join(filter(None, told)) or "not known"


def _versions(record: Record) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items())) or "not known"


def data_table(records: Sequence[Record]) -> Table:
    """Return one row a training set and test set: images, and the beginnings of the hashes of pixels and labels."""
    rows = {
        (record.data, record.noise, name, str(part.images), part.pixels_sha256[:HASH], part.labels_sha256[:HASH])
        for record in records
        for name, part in record.fingerprint.items()
    }
    # Test sets that several noises share stand there once.
    tests = {(row[0], "", *row[2:]) for row in rows if row[2] == "test"}
    ordered = sorted({row for row in rows if row[2] != "test"} | tests, key=lambda row: (row[0], row[2] == "test", row))
    titles = ("data", "noise", "set", "images", "pixels SHA-256", "labels SHA-256")
    return Table(tuple(map(Column, titles)), tuple(ordered))


def _joined(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
