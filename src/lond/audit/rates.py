"""How much of a labelled set is wrong: estimated rates of wrong labels and of foreign images, and what is mixed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lond.audit.intervals import LEVEL, Estimate, Floats, choose_cutoff, excess_of_small, mixed_in_rate, wilson
from lond.errors import ConfigError, DataError
from lond.seeds import derive_seed
from lond.types import Verdict

JUDGED = (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN)
"""Verdicts that say whether the label is right and the image known."""


@dataclass(frozen=True)
class SetRates:
    """The rates in some labelled images that can be read; an entry is None if there is nothing to count.

    ``open`` is the share of foreign images among all, ``closed`` the share of wrong labels among those that are not
    foreign. ``open`` and ``closed`` are the figures to show; the others say the same in another way. Intervals are for
    chance alone: how an estimate leans is said below and not in them.

    * ``open``: the excess of small p-values (Storey). Known images have uniform p-values, so the number of large ones
      tells how many are known. Leans low: a foreign image with a large p-value counts as known, and p-values of images
      the model was trained on are too large. Without p-values it is ``open_by_verdict``.
    * ``closed``: the most likely rate of labels replaced at random, given the probabilities of the images not judged
      foreign. It allows for the model's own doubt. Leans high if the model is surer than it is right or foreign images
      were missed, low if it learnt wrong labels by heart.
    * ``open_by_verdict``: the share of images judged foreign; includes false alarms, and lacks the missed ones.
    * ``closed_by_verdict``: the share judged mislabelled of those not judged foreign. Leans high by the model's errors.
    * ``closed_by_probability``: mean of one minus the probability of the given label. Leans high, even for a calibrated
      model: its doubt about hard images counts as noise, all the more with many classes.
    """

    images: int
    closed: Estimate | None
    open: Estimate | None
    closed_by_verdict: Estimate | None
    open_by_verdict: Estimate | None
    closed_by_probability: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """Return the two rates to show."""
        return {
            "closed": None if self.closed is None else self.closed.as_dict(),
            "open": None if self.open is None else self.open.as_dict(),
        }


@dataclass(frozen=True)
class Rates:
    """The rates in the whole set, and in the images of each given label."""

    overall: SetRates
    by_class: dict[str, SetRates]

    def as_dict(self) -> dict[str, Any]:
        """Return the rates to show: overall, and one entry a class with its number of images."""
        classes = [{"class": name, "images": own.images, **own.as_dict()} for name, own in self.by_class.items()]
        return {**self.overall.as_dict(), "by_class": classes}


@dataclass(frozen=True)
class RateSettings:
    """How rates are estimated.

    Attributes:
        level: how often an interval should hold the truth.
        cutoff: p-value above which images are taken for known ones; None chooses it from the p-values.
        calibration: number of known images behind the p-values, whose small number widens the interval; None = many.
        seed: seed of the bootstrap.
    """

    level: float = LEVEL
    cutoff: float | None = None
    calibration: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if not 0 < self.level < 1 or not (self.cutoff is None or 0 < self.cutoff < 1):
            raise ConfigError(f"level and cutoff must lie between 0 and 1, got {self.level} and {self.cutoff}")
        if self.calibration is not None and self.calibration < 1:
            raise ConfigError(f"calibration must be at least 1, got {self.calibration}")


DEFAULTS = RateSettings()


def estimate_rates(
    labels: Tensor,
    probabilities: Tensor,
    verdicts: Sequence[str],
    names: Sequence[str],
    p_values: Tensor | None = None,
    settings: RateSettings = DEFAULTS,
    *,
    class_p_values: Tensor | None = None,
) -> Rates:
    """Return the rates of wrong labels and foreign images; unlabelled and unreadable images do not count.

    Args:
        labels: ``(N,)`` given labels; negative = unlabelled.
        probabilities: ``(N, C)`` calibrated class probabilities.
        verdicts: N values of ``Verdict``.
        names: C class names.
        p_values: ``(N,)`` conformal p-values of being known, NaN where there is none.
        settings: level, cut-off, calibration size and seed.
        class_p_values: ``(N,)`` those to use for the rates by class, where known images of each class are the measure.

    Raises:
        DataError: the parts differ in length, or a label or probability makes no sense.
    """
    data = _Data.of(labels, probabilities, verdicts, names, p_values)
    cutoffs = _cutoffs(data, settings)
    overall = _rates(data, data.counted, cutoffs, settings, "all")
    if class_p_values is not None:
        data = _Data.of(labels, probabilities, verdicts, names, class_p_values)
        cutoffs = _cutoffs(data, settings)
    own = [data.counted & (data.labels == index) for index in range(len(names))]
    classes = {name: _rates(data, own[at], cutoffs, settings, str(at)) for at, name in enumerate(names)}
    return Rates(overall, classes)


def confusions(
    given: Tensor, suggested: Tensor, verdicts: Sequence[str], names: Sequence[str], most: int = 50
) -> list[dict[str, Any]]:
    """Return how often which given label should be which other one, by the verdicts, most frequent first.

    Args:
        given: ``(N,)`` given labels; negative = none.
        suggested: ``(N,)`` suggested labels; negative = none.
        verdicts: N values of ``Verdict``; only mislabelled images count.
        names: C class names.
        most: how many pairs at most.
    """
    rows = zip(given.tolist(), suggested.tolist(), verdicts, strict=True)
    pairs = Counter((old, new) for old, new, verdict in rows if verdict == Verdict.MISLABELLED and min(old, new) >= 0)
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: max(0, most)]
    return [{"given": names[old], "suggested": names[new], "images": count} for (old, new), count in ordered]


@dataclass(frozen=True)
class _Data:
    """The inputs as arrays, one entry an image; ``counted`` marks the labelled images that can be read."""

    labels: NDArray[np.int64]
    own: Floats
    verdicts: NDArray[np.str_]
    p_values: Floats
    classes: int
    counted: NDArray[np.bool_]

    @classmethod
    def of(
        cls, labels: Tensor, probabilities: Tensor, verdicts: Sequence[str], names: Sequence[str], p: Tensor | None
    ) -> _Data:
        lengths = {len(labels), len(probabilities), len(verdicts), *(() if p is None else (len(p),))}
        if len(lengths) > 1 or probabilities.ndim != 2 or probabilities.shape[1] != len(names):
            raise DataError(
                f"labels, verdicts and p-values need one entry an image and probabilities one of {len(names)} columns; "
                f"got lengths {sorted(lengths)} and probabilities of shape {tuple(probabilities.shape)}"
            )
        if len(set(names)) != len(names) or (len(labels) and int(labels.max()) >= len(names)):
            raise DataError("class names must differ, and labels must be positions in them")
        numbers = labels.cpu().numpy().astype(np.int64)
        table = probabilities.detach().double().cpu().numpy()
        own = table[np.arange(len(numbers)), numbers.clip(0)] if len(names) else np.zeros(len(numbers))
        texts = np.array([str(verdict) for verdict in verdicts], dtype=np.str_)
        p_values = np.full(len(numbers), np.nan) if p is None else p.detach().double().cpu().numpy()
        counted = (numbers >= 0) & (texts != str(Verdict.UNREADABLE))
        if not np.isfinite(own[counted]).all():
            raise DataError("a class probability is not a number; check for a diverged model")
        return cls(numbers, own, texts, p_values, len(names), counted)


def _cutoffs(data: _Data, settings: RateSettings) -> Floats:
    """Return the cut-off for each p-value, chosen on the other half of the images.

    One chosen on the same images would be the luckiest, and find foreign images where there are none.
    """
    count = len(data.labels)
    if settings.cutoff is not None:
        return np.full(count, settings.cutoff)
    half = np.random.default_rng(derive_seed(settings.seed, "rates", "halves")).permutation(count) % 2 == 0
    usable = data.counted & np.isfinite(data.p_values)
    one, other = (choose_cutoff(data.p_values[usable & chosen]) for chosen in (half, ~half))
    return np.where(half, other, one)


def _rates(data: _Data, members: NDArray[np.bool_], cutoffs: Floats, settings: RateSettings, purpose: str) -> SetRates:
    verdicts, level = data.verdicts[members], settings.level
    counts = {verdict: int((verdicts == str(verdict)).sum()) for verdict in JUDGED}
    known = counts[Verdict.CLEAN] + counts[Verdict.MISLABELLED]
    open_share = wilson(counts[Verdict.FOREIGN], sum(counts.values()), level)
    usable = members & np.isfinite(data.p_values)
    rng = np.random.default_rng(derive_seed(settings.seed, "rates", purpose))
    p_values = data.p_values[usable]
    excess = excess_of_small(p_values, cutoffs[usable], rng, calibration=settings.calibration, level=level)
    own = data.own[members][verdicts != str(Verdict.FOREIGN)]
    return SetRates(
        images=int(members.sum()),
        closed=mixed_in_rate(own, data.classes, level),
        open=open_share if excess is None else excess,
        closed_by_verdict=wilson(counts[Verdict.MISLABELLED], known, level),
        open_by_verdict=open_share,
        closed_by_probability=wilson(float((1 - own).sum()), len(own), level),
    )
