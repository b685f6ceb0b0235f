"""Choosing records: by what they are, or one by its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lond.errors import DataError
from lond.results.records import Record

Selector = str | Collection[str] | None
"""One value, several, or None for all."""


def select(
    records: Iterable[Record],
    *,
    method: Selector = None,
    data: Selector = None,
    noise: Selector = None,
    scale: Selector = None,
    preset: Selector = None,
    seed: int | Collection[int] | None = None,
) -> list[Record]:
    """Return the records that match all filters; ``seed`` is the training seed.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> len(select([record], method="sed", noise=["sym20", "sym40"]))
        1
    """
    asked = {"method": method, "data": data, "noise": noise, "scale": scale, "preset": preset}
    wanted = {name: {choice} if isinstance(choice, str) else choice for name, choice in asked.items()}
    seeds = {seed} if isinstance(seed, int) else seed
    return [
        record
        for record in records
        if all(choice is None or getattr(record, name) in choice for name, choice in wanted.items())
        and (seeds is None or record.seeds.training in seeds)
    ]


def find(records: Iterable[Record], name: str) -> Record:
    """Return the record with a name or identity, or with the beginning of either.

    Raises:
        DataError: there is none, or there are several.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> find([record], "a1") is record
        True
    """
    records, name = list(records), name.removesuffix(".json")
    exact = [record for record in records if name in (record.name, record.identity)]
    found = exact or [record for record in records if record.name.startswith(name) or record.identity.startswith(name)]
    if not name or not found:
        raise DataError(f"there is no record {name!r}; `lond results` lists the names")
    if len(found) > 1:
        raise DataError(f"{name!r} is the beginning of {len(found)} records, e.g. {found[0].name}, {found[1].name}")
    return found[0]
