"""What is odd about pictures, by limits that come from the set itself; it says nothing about labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.frozen.measures import MEASURES

DARK, BRIGHT, BLURRED, UNIFORM = "dark", "bright", "blurred", "uniform"
ODD_SIZE, ODD_SHAPE, ANIMATED, GREY = "odd size", "odd shape", "animated", "grey"
SEEN_IN_PART = "seen in part"
ODDITIES = (DARK, BRIGHT, BLURRED, UNIFORM, SEEN_IN_PART, ODD_SIZE, ODD_SHAPE, ANIMATED, GREY)
"""Names of all oddities, in the order in which an image lists its own."""

FEWEST = 10
"""Images of a set from which on they say what is usual."""

Floats = NDArray[np.float64]
Limits = dict[str, float]
"""``below`` and ``above`` which a picture is odd; one of them may be missing."""


@dataclass(frozen=True)
class OddityRules:
    """How far from the usual a picture must lie to be odd.

    The limit lies ``deviations`` robust standard deviations (1.4826 times the median distance from the median) from the
    median of the set, and at least the given distance, so that sets in which all pictures are alike list none of them.
    In a varied set that limit may lie beyond any picture, so nearly black, white and smooth pictures are odd anyway.
    """

    deviations: float = 4.0
    brightness: float = 0.25
    """Least distance of highlights and shadows, as a share of white."""
    blur: float = 0.2
    contrast: float = 4.0
    """Least factor between the contrast of the usual and that of a uniform picture."""
    flat: float = 0.01
    """Contrast below which a picture is uniform in any set."""
    size: float = 4.0
    """Least factor between the sides."""
    shape: float = 2.0
    """Least factor between the ratios of width to height."""
    colour: float = 0.06
    """Colour below which a picture is grey."""
    grey_share: float = 0.2
    """Largest share of grey pictures in a set of colour."""
    black: float = 0.08
    """Highlights below which a picture is dark in any set."""
    white: float = 0.98
    """Shadows above which a picture is bright in any set."""
    smooth: float = 0.7
    """Blur above which a picture is blurred in any set: sharp photographs stay below 0.5, and a Gaussian blur of four
    pixels at ``lond.frozen.measures.LOOK`` brings 95 % of them to 0.7 or more."""
    extreme_share: float = 0.1
    """Largest share of pictures beyond one of these three; if more are, only the limit of the set counts."""


RULES = OddityRules()


@dataclass(frozen=True)
class Oddities:
    """What is odd about N pictures: ``names`` of each, and the ``limits`` by oddity."""

    names: tuple[tuple[str, ...], ...]
    limits: dict[str, Limits]

    def summary(self) -> dict[str, Any]:
        """Return counts and limits by oddity, as plain values."""
        counts = Counter(name for names in self.names for name in names)
        return {"counts": {name: counts[name] for name in ODDITIES if counts[name]}, "limits": self.limits}


def find_oddities(
    measures: NDArray[Any],
    readable: Sequence[bool],
    rules: OddityRules = RULES,
    *,
    seen_in_part: NDArray[np.bool_] | None = None,
) -> Oddities:
    """Return what is odd about N pictures.

    Args:
        measures: ``(N, 8)``, see ``lond.frozen.measures``.
        readable: which of them could be read; the others have no oddities.
        rules: how far from the usual is odd.
        seen_in_part: ``(N,)`` of which of them the network saw only a part; None = of none.
    """
    known = np.asarray(readable, dtype=bool)
    column = {name: measures[:, at].astype(np.float64) for at, name in enumerate(MEASURES)}
    limits = _limits({name: values[known] for name, values in column.items()}, rules)
    values = _judged(column)
    odd = {name: known & _beyond(values[name], own) for name, own in limits.items() if name in values}
    odd[ANIMATED] = known & (column["several"] > 0)
    if seen_in_part is not None:
        odd[SEEN_IN_PART] = known & seen_in_part
    _say_once(odd, column["contrast"] < rules.flat)
    if seen_in_part is not None:
        odd[ODD_SHAPE] = odd.get(ODD_SHAPE, seen_in_part) & ~seen_in_part
    names = tuple(tuple(name for name in ODDITIES if name in odd and odd[name][row]) for row in range(len(measures)))
    return Oddities(names, limits)


def _say_once(odd: dict[str, NDArray[np.bool_]], flat: NDArray[np.bool_]) -> None:
    """Take off what follows from another oddity: dark pictures have little contrast, uniform ones no details."""
    none = np.zeros_like(flat)
    extreme = odd.get(DARK, none) | odd.get(BRIGHT, none)
    odd[UNIFORM] = odd[UNIFORM] & (flat | ~extreme)
    odd[BLURRED] = odd[BLURRED] & ~odd[UNIFORM]
    if GREY in odd:
        odd[GREY] = odd[GREY] & ~extreme & ~odd[UNIFORM]


def _judged(column: dict[str, Floats]) -> dict[str, Floats]:
    """Return for each oddity the value that is compared with its limits."""
    width, height = np.maximum(column["width"], 1), np.maximum(column["height"], 1)
    return {
        DARK: column["highlights"],
        BRIGHT: column["shadows"],
        BLURRED: column["blur"],
        UNIFORM: column["contrast"],
        ODD_SIZE: np.sqrt(width * height),
        ODD_SHAPE: width / height,
        GREY: column["colour"],
    }


def _limits(column: dict[str, Floats], rules: OddityRules) -> dict[str, Limits]:
    values = _judged(column)
    count = len(column["width"])
    extreme = _extreme_limits(values, rules)
    if count < FEWEST:
        return {**extreme, UNIFORM: {"below": rules.flat}}

    def factors(name: str, least: float) -> tuple[float, float]:
        low, high = usual_range(np.log(np.maximum(values[name], 1e-4)), rules.deviations, float(np.log(least)))
        return float(np.exp(low)), float(np.exp(high))

    size, shape = factors(ODD_SIZE, rules.size), factors(ODD_SHAPE, rules.shape)
    grey = float((values[GREY] < rules.colour).mean())
    dark = usual_range(values[DARK], rules.deviations, rules.brightness)[0]
    bright = usual_range(values[BRIGHT], rules.deviations, rules.brightness)[1]
    blurred = usual_range(values[BLURRED], rules.deviations, rules.blur)[1]
    return {
        DARK: {"below": max(dark, extreme[DARK].get("below", dark))},
        BRIGHT: {"above": min(bright, extreme[BRIGHT].get("above", bright))},
        BLURRED: {"above": min(blurred, extreme[BLURRED].get("above", blurred))},
        UNIFORM: {"below": max(rules.flat, factors(UNIFORM, rules.contrast)[0])},
        ODD_SIZE: {"below": size[0], "above": size[1]},
        ODD_SHAPE: {"below": shape[0], "above": shape[1]},
        GREY: {"below": rules.colour} if grey <= rules.grey_share else {},
    }


def _extreme_limits(values: dict[str, Floats], rules: OddityRules) -> dict[str, Limits]:
    """Return the limits that do not depend on what is usual; none where too many pictures lie beyond it."""
    limits: dict[str, Limits] = {
        DARK: {"below": rules.black},
        BRIGHT: {"above": rules.white},
        BLURRED: {"above": rules.smooth},
    }
    # One picture is never the style of a set, however small the set is.
    most = max(1.0, rules.extreme_share * len(values[DARK]))
    return {name: own if int(_beyond(values[name], own).sum()) <= most else {} for name, own in limits.items()}


def usual_range(values: Floats, deviations: float, least: float) -> tuple[float, float]:
    """Return the ends of the usual: the median with ``deviations`` robust deviations around it, ``least`` at least."""
    middle = float(np.median(values))
    reach = max(deviations * 1.4826 * float(np.median(np.abs(values - middle))), least)
    return middle - reach, middle + reach


def _beyond(values: Floats, limits: Limits) -> NDArray[np.bool_]:
    beyond: NDArray[np.bool_] = (values < limits.get("below", -np.inf)) | (values > limits.get("above", np.inf))
    return beyond
