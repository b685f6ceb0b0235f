"""How much of a labelled set is wrong: estimated rates of wrong labels and of foreign images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lond.audit.rates.confidence import RATES, fit_agreement
from lond.audit.rates.intervals import (
    LEVEL,
    Estimate,
    Floats,
    choose_cutoff,
    excess_of_small,
    likeliest,
    mixed_in_rate,
    ordered,
    wilson,
)
from lond.audit.rates.label_mixes import label_mixes, wrong_ratios
from lond.audit.rates.open_share import missing_agreement
from lond.errors import ConfigError, DataError
from lond.seeds import derive_seed
from lond.types import Verdict

JUDGED = (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN)
"""Verdicts that say whether the label is right and the image known."""


_DRAWS = 2000

CENTRAL = 0.5
"""p-value from which on images are taken for known, to find the rate of wrong labels from."""


@dataclass(frozen=True)
class SetRates:
    """The rates in some labelled images that can be read; an entry is None if there is nothing to count.

    ``open`` is the share of foreign images among all, ``closed`` the share of wrong labels among those that are not
    foreign. Intervals are for chance alone: how an estimate leans is said below and not in them.

    * ``closed`` of the whole set: the share of labels that even the surest predictions contradict (``fit_agreement``),
      on images with large p-values. Wrong labels may come from any class, but must not avoid the easy images. Leans
      high if the model is wrong where it is sure or foreign images have large p-values, low if it learnt the labels by
      heart.
    * ``open`` of the whole set: labels that agree with the prediction less often than known images would
      (``missing_agreement``); None if even those of known images would hardly agree. Leans high if the model is surer
      of known images than it is right, low if foreign images mostly carry the label of the class they look like, or
      count as wrong labels.
    * ``closed`` of a label: the share of other classes among its images (``label_mixes``), less what missed foreign
      images add on average; the upper end of the interval is without that.
    * ``open`` of a label: the excess of small p-values (Storey). Leans low: a foreign image with a large p-value counts
      as known.

    Without p-values ``open`` is the share of images judged foreign, false alarms included and missed ones not.
    """

    images: int
    closed: Estimate | None
    open: Estimate | None

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
        """Return the rates to show: overall, and one entry per class with its number of images."""
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
        """Check that level and cutoff lie in (0, 1), and the calibration set is not empty."""
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
    overall = _overall(data, settings)
    if class_p_values is not None:
        data = _Data.of(labels, probabilities, verdicts, names, class_p_values)
    return Rates(overall, dict(zip(names, _by_label(data, overall, settings), strict=True)))


def overall_rates(labels: Tensor, probabilities: Tensor, p_values: Tensor) -> SetRates:
    """Return the rates of the whole set; arguments as for ``estimate_rates``, without need of verdicts."""
    names = [str(place) for place in range(probabilities.shape[1])]
    verdicts = [Verdict.CLEAN] * len(labels)
    return _overall(_Data.of(labels, probabilities, verdicts, names, p_values), DEFAULTS)


@dataclass(frozen=True)
class _Data:
    """The inputs of the labelled images that can be read."""

    labels: NDArray[np.int64]
    probabilities: Floats
    foreign: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    p_values: Floats

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
        texts = np.array([str(verdict) for verdict in verdicts], dtype=np.str_)
        counted = (numbers >= 0) & (texts != str(Verdict.UNREADABLE))
        table = probabilities.detach().double().cpu().numpy()[counted]
        p_values = np.full(len(numbers), np.nan) if p is None else p.detach().double().cpu().numpy()
        if not np.isfinite(table).all():
            raise DataError("a class probability is not a number; check for a diverged model")
        texts = texts[counted]
        judged = np.isin(texts, [str(verdict) for verdict in JUDGED])
        return cls(numbers[counted], table, texts == str(Verdict.FOREIGN), judged, p_values[counted])

    @property
    def classes(self) -> int:
        return int(self.probabilities.shape[1])


def _overall(data: _Data, settings: RateSettings) -> SetRates:
    images = len(data.labels)
    sure = data.p_values >= CENTRAL
    sure = sure if sure.any() else ~data.foreign
    fit = fit_agreement(torch.from_numpy(data.probabilities[sure]), torch.from_numpy(data.labels[sure]))
    if fit is None:
        closed = Estimate(0.0, 0.0, 0.0) if sure.any() and data.classes else None
        return SetRates(images, closed, _open(data, np.ones(images, dtype=np.bool_), settings, "all"))
    weights, values = fit.rate_weights(), np.array(RATES)
    closed = likeliest(values, weights, settings.level)
    rng = np.random.default_rng(derive_seed(settings.seed, "rates", "agreement"))
    draws = np.concatenate([[closed.estimate], rng.choice(values, _DRAWS, p=weights)])
    order = np.argsort(data.p_values, kind="stable")
    order = order[np.isfinite(data.p_values[order])]
    predicted = data.probabilities.argmax(axis=1)
    chance = np.bincount(data.labels, minlength=data.classes)[predicted] / images
    missing = missing_agreement(
        (predicted == data.labels)[order],
        data.probabilities.max(axis=1)[order],
        chance[order],
        draws,
        data.classes,
        rng,
        settings.level,
    )
    if missing is None and not len(order):
        return SetRates(images, closed, _open(data, np.ones(images, dtype=np.bool_), settings, "all"))
    return SetRates(images, closed, missing)


def _by_label(data: _Data, overall: SetRates, settings: RateSettings) -> list[SetRates]:
    kept = ~data.foreign
    labels, table = torch.from_numpy(data.labels[kept]), torch.from_numpy(data.probabilities[kept])
    mixes, ratios = label_mixes(table, labels)
    right = ratios.gather(1, labels[:, None]).squeeze(1).numpy()
    wrong = wrong_ratios(mixes, ratios, labels).numpy()
    own = [data.labels[kept] == label for label in range(data.classes)]
    closed = [mixed_in_rate(right[rows], wrong[rows], settings.level) for rows in own]
    members = [data.labels == label for label in range(data.classes)]
    return [
        SetRates(int(rows.sum()), rate, _open(data, rows, settings, str(label)))
        for label, (rows, rate) in enumerate(zip(members, _less_missed(closed, own, overall.closed), strict=True))
    ]


def _less_missed(
    rates: Sequence[Estimate | None], members: Sequence[NDArray[np.bool_]], overall: Estimate | None
) -> list[Estimate | None]:
    """Take out what foreign images that were not recognised add to the rates of all labels alike."""
    found = [(rate.estimate, rows.sum()) for rate, rows in zip(rates, members, strict=True) if rate is not None]
    if not found or overall is None or overall.estimate == 1:
        return list(rates)
    mean = np.average([rate for rate, _ in found], weights=[count for _, count in found])
    missed = max(0.0, float(mean - overall.estimate) / (1 - overall.estimate))
    if missed == 1:
        return list(rates)

    def less(value: float) -> float:
        return (value - missed) / (1 - missed)

    # The upper end stays: some labels carry fewer missed images than others.
    return [None if rate is None else ordered(less(rate.estimate), less(rate.low), rate.high) for rate in rates]


def _open(data: _Data, members: NDArray[np.bool_], settings: RateSettings, purpose: str) -> Estimate | None:
    """Return the excess of small p-values, or without these the share judged foreign."""
    rng = np.random.default_rng(derive_seed(settings.seed, "rates", purpose))
    usable = members & np.isfinite(data.p_values)
    cutoffs = _cutoffs(data, settings)[usable]
    excess = excess_of_small(
        data.p_values[usable], cutoffs, rng, calibration=settings.calibration, level=settings.level
    )
    if excess is not None:
        return excess
    return wilson(float(data.foreign[members].sum()), int(data.judged[members].sum()), settings.level)


def _cutoffs(data: _Data, settings: RateSettings) -> Floats:
    """Return the cut-off for each p-value, chosen on the other half of the images.

    One chosen on the same images would be the luckiest, and find foreign images where there are none.
    """
    count = len(data.labels)
    if settings.cutoff is not None:
        return np.full(count, settings.cutoff)
    half = np.random.default_rng(derive_seed(settings.seed, "rates", "halves")).permutation(count) % 2 == 0
    usable = np.isfinite(data.p_values)
    one, other = (choose_cutoff(data.p_values[usable & chosen]) for chosen in (half, ~half))
    return np.where(half, other, one)
