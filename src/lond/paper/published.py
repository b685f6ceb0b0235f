"""Every value of the paper's tables, in the order they are printed: row by row, from left to right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lond.paper import transcripts
from lond.paper.names import CIFAR_NOISES, DETECTOR_NAMES, METHOD_NAMES, WEB_SETS
from lond.paper.records import MEAN, Cell, Published, Source

NOTES = {
    ("table2", "Ours", "cifar80n", MEAN): (
        "the three cases average to 71.10; the gain of 6.17 that the text states fits 71.10, not the printed 70.10"
    ),
    ("table8", "Ours", "cifar100n+tinyimagenet-10k", "sym50"): "in bold, although MLS, TempScaling and EBO are higher",
}
"""(Table, contender, data set, noise) -> what does not agree."""

Place = Mapping[str, str]
"""Some of the fields of ``Published``."""


def contender(name: str) -> Place:
    """Return who a printed name stands for: a method, a detector put on SED, or a row of the ablation."""
    if name in DETECTOR_NAMES:
        return {"row": name, "method": "sed", "detector": DETECTOR_NAMES[name]}
    return {"row": name, "method": "lond-drs" if name.startswith("(") else METHOD_NAMES[name]}


def _noise(name: str) -> Place:
    return {"noise": name}


def _data(name: str) -> Place:
    return {"data": name}


def _read(
    experiment: str, transcript: str, place_of: Callable[[str], Place], columns: Sequence[Place], **common: str
) -> Iterator[Published]:
    """Read a transcript whose lines begin with what ``place_of`` understands; ``common`` holds for every value."""
    for line in transcript.strip().splitlines():
        name, *texts = line.split()
        for column, text in zip(columns, texts, strict=True):
            place = {"detector": "", **common, **place_of(name.rstrip("†")), **column}
            note = NOTES.get((experiment, place["row"], place["data"], place["noise"]))
            yield Published(
                experiment,
                **place,
                value=float(text.lstrip("*")),
                source=_source(experiment, place, ran_again="†" in name),
                bold=text.startswith("*"),
                notes=(note,) if note else (),
            )


def _source(experiment: str, place: Place, ran_again: bool) -> Source:
    """Return where a value comes from: tables 1 and 3 take those of other methods from earlier papers, mostly."""
    if place["method"] == "lond-drs":
        return "own"
    if experiment not in ("table1", "table3"):
        return "re-run"
    # The one exception to the dagger, by the paper's own words.
    copied = not ran_again or (place["row"], place["data"]) == ("NPN-hard", "cifar100n")
    return "copied" if copied else "re-run"


def _tables() -> Iterator[Published]:
    detectors = [contender(name) for name in DETECTOR_NAMES]
    ngc, sed, ours = contender("NGC"), contender("SED"), contender("Ours")
    cifar = [{"data": data, "noise": noise} for data in ("cifar100n", "cifar80n") for noise in CIFAR_NOISES]
    yield from _read("table1", transcripts.TABLE1, contender, cifar, metric="accuracy")
    columns = [*detectors, ngc, ours]
    yield from _read("table2", transcripts.TABLE2, _noise, columns, data="cifar80n", metric="auroc")
    columns = [_data(data) for data in (*WEB_SETS, MEAN)]
    yield from _read("table3", transcripts.TABLE3, contender, columns, noise="", metric="accuracy")
    columns = [
        {"noise": noise, "metric": metric} for noise in CIFAR_NOISES[1:] for metric in ("accuracy", "auroc", MEAN)
    ]
    yield from _read("table4", transcripts.TABLE4, contender, columns, data="cifar80n")
    columns = [contender("MDS"), contender("KNN"), ours]
    yield from _read("table6", transcripts.TABLE6, _noise, columns, data="cifar80n", metric="fpr95")
    yield from _read("table7", transcripts.TABLE7, _data, [sed, ours], noise="sym50", metric="accuracy")
    yield from _read("table8", transcripts.TABLE8, _data, [*detectors, ours], noise="sym50", metric="auroc")


PUBLISHED: tuple[Published, ...] = tuple(_tables())
"""All printed values; one of 67.11 means 67.11 %."""


def table(experiment: str) -> tuple[Published, ...]:
    """Return the values of one table, in printed order; none for a figure.

    Examples:
        >>> [one.value for one in table("table1") if one.method == "lond-drs"][:2]
        [67.11, 48.33]
    """
    return tuple(printed for printed in PUBLISHED if printed.experiment == experiment)


def published_of(cell: Cell) -> dict[str, float]:
    """Return the published values of a cell, by metric, in percent; empty if there are none.

    Examples:
        >>> from lond.paper import experiment
        >>> published_of(experiment("table1").cells[0])
        {'accuracy': 35.5}
    """
    place = (cell.experiment, cell.row, cell.method, cell.detector, cell.data, cell.noise)
    return {
        printed.metric: printed.value
        for printed in PUBLISHED
        if (printed.experiment, printed.row, printed.method, printed.detector, printed.data, printed.noise) == place
        and not printed.is_mean
    }
