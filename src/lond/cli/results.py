"""The command about stored results: parsing and printing only."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lond.cli.shared import STORE, LazyConsole, out, print_table, say, split
from lond.errors import ConfigError, DataError, LondError

if TYPE_CHECKING:
    from lond.results.records import Record
    from lond.results.tables import Table

notes = LazyConsole(stderr=True)

ADD = "add"
TABLE = "table"
USUAL_METRICS = "accuracy,auroc,fpr95"
SHOWN = 8
"""Settings that a note names."""
IN_THE_NAME = ("method", "data", "noise", "seed")
"""Columns left out on a terminal, because the name contains them."""


def results(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="STORE | add RUN_FOLDER", help="Results store to show, or runs to add."),
    ] = None,
    store: Annotated[Path | None, typer.Option(help=f"Results store; default: {STORE}.")] = None,
    method: Annotated[str, typer.Option(help="Filter by methods, separated by commas.")] = "",
    data: Annotated[str, typer.Option(help="Filter by data sets; with add: the name of the data.")] = "",
    noise: Annotated[str, typer.Option(help="Filter by noise, e.g. sym50,asym40.")] = "",
    scale: Annotated[
        str, typer.Option(help="Filter by scale: full, mini, frozen, smoke, own; with add: the scale.")
    ] = "",
    seed: Annotated[str, typer.Option(help="Filter by training seeds.")] = "",
    by: Annotated[str, typer.Option(help="Group by these and show mean and deviation, e.g. method,data,noise.")] = "",
    metrics: Annotated[
        str, typer.Option("--metrics", "--figures", help="Metrics, e.g. accuracy,last.accuracy,knn.clean.auroc.")
    ] = USUAL_METRICS,
    form: Annotated[str, typer.Option("--format", help="table, csv, markdown, latex or json.")] = TABLE,
    compare: Annotated[tuple[str, str], typer.Option(metavar="A B", help="Show the differences of two records.")] = (
        "",
        "",
    ),
    preset: Annotated[str, typer.Option(help="With add: the preset, if it cannot be derived from the data.")] = "",
    threads: Annotated[int | None, typer.Option(help="With add: number of threads of the runs.")] = None,
    device: Annotated[str | None, typer.Option(help="With add: device of the runs.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="With add: overwrite a different result.")] = False,
) -> None:
    """List, group, compare and print stored results; `lond results add RUN_FOLDER...` stores finished runs."""
    from lond.results.choose import find
    from lond.results.groups import group
    from lond.results.records import Machine
    from lond.results.tables import FORMATS, differences_table, groups_table, runs_table

    if words and words[0] == ADD:
        if method or noise or seed or by or any(compare):
            raise ConfigError("--method, --noise, --seed, --by and --compare are about stored results, not about add")
        tags = {"scale": scale or None, "data": data, "preset": preset, "machine": Machine(threads, device)}
        _add(words[1:], store or STORE, tags, replace)
        return
    if preset or threads is not None or device or replace:
        raise ConfigError("--preset, --threads, --device and --replace go with: lond results add RUN_FOLDER...")
    if form not in (TABLE, *FORMATS):
        raise ConfigError(f"there is no format {form!r}; choose one of: {', '.join((TABLE, *FORMATS))}")
    records = _read(_place(words or [], store))
    chosen = _chosen(records, method=method, data=data, noise=noise, scale=scale, seed=seed)
    if any(compare):
        if by:
            raise ConfigError("--compare is about two runs; leave out --by")
        first, second = (find(chosen, name) for name in compare)
        _show(differences_table(first, second), form)
        return
    asked = _checked_metrics(split(metrics), chosen)
    if not by:
        _show(runs_table(chosen, asked), form, IN_THE_NAME)
        return
    groups = group(chosen, split(by))
    _show(groups_table(groups, asked), form)
    for one in groups:
        if mixed := one.mixed():
            key, more = ", ".join(filter(None, one.key.values())), " ..." if len(mixed) > SHOWN else ""
            advice = " and ".join(one.apart())
            _note(f"the runs of {key} differ in {', '.join(mixed[:SHOWN])}{more}; add {advice} to --by")


def _add(folders: Sequence[str], store: Path, tags: Mapping[str, Any], replace: bool) -> None:
    """Store all runs that can be stored, and end with an error if some cannot."""
    from lond.results.gather import record_of
    from lond.results.store import named_as_stored, write

    if not folders:
        raise ConfigError("name the run folders: lond results add RUN_FOLDER...")
    failed = 0
    for folder in folders:
        try:
            record = named_as_stored(store, record_of(folder, **tags), {name for name, tag in tags.items() if tag})
            written = write(store, record, replace=replace)
            say(f"{written.outcome}: {written.path}")
        except LondError as error:
            failed += 1
            _note(f"not stored: {error}")
    if failed:
        raise DataError(f"{failed} of {len(folders)} runs were not stored")


def _place(words: Sequence[str], store: Path | None) -> Path:
    if len(words) > 1 or (words and store is not None):
        raise ConfigError("name one store; to store runs: lond results add RUN_FOLDER...")
    return Path(words[0]) if words else store or STORE


def _read(place: Path) -> list[Record]:
    from lond.results.store import scan

    records, unusable = scan(place)
    for file in unusable:
        _note(f"{file.path} is left out: {file.reason}")
    if not records:
        raise DataError(f"{place} holds no records; store finished runs with: lond results add RUN --store {place}")
    return records


def _chosen(records: list[Record], *, seed: str, **asked: str) -> list[Record]:
    from lond.results.choose import select

    wanted = {name: split(text) or None for name, text in asked.items()}
    try:
        seeds = [int(text) for text in split(seed)] or None
    except ValueError as error:
        raise ConfigError(f"--seed needs whole numbers with commas, not {seed!r}") from error
    chosen = select(records, seed=seeds, **wanted)
    if not chosen:
        held = {
            name: sorted({str(getattr(record, name)) for record in records} - {""})
            for name, given in asked.items()
            if given
        }
        held |= {"seed": sorted({str(record.seeds.training) for record in records})} if seed else {}
        there = "; ".join(f"{name}: {', '.join(values)}" for name, values in held.items())
        raise DataError(f"no record fits all that is asked; the store holds {there}")
    return chosen


def _checked_metrics(names: list[str], records: Sequence[Record]) -> list[str]:
    from lond.results.tables import METRICS

    known = dict.fromkeys(name for record in records for name, _ in record.values())
    unknown = [name for name in names if name not in known and name not in METRICS]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=5, cutoff=0.3)
        raise ConfigError(f"no run has a metric {unknown[0]!r}; there are, for example: {', '.join(near or METRICS)}")
    return names


def _show(table: Table, form: str, left_out: Sequence[str] = ()) -> None:
    if form != TABLE:
        from lond.results.tables import FORMATS

        typer.echo(FORMATS[form](table), nl=False)
    elif not table.rows:
        out.print("no differences")
    else:
        print_table(table, left_out=left_out)


def _note(text: str) -> None:
    notes.print(f"note: {text}", markup=False, emoji=False, highlight=False, soft_wrap=True)
