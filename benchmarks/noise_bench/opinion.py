"""What a contender says about a cell, and what it gets to see of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.noise_bench.sources import Floats, Ints
from numpy.typing import NDArray

Numbers = NDArray[Any]
Flags = NDArray[np.bool_]
Rate = tuple[float, float, float]
"""Estimate, lower and upper end."""

FALSE_ALARMS = 0.1
"""Share of known test images that a contender is asked to call foreign at most."""


@dataclass(frozen=True)
class Task:
    """What a contender sees: N training images with doubtful labels, and M test images without any."""

    features: Floats
    given: Ints
    classes: int
    test_features: Floats
    seed: int = 0


@dataclass(frozen=True)
class Tested:
    """Predicted classes of test images, scores that grow with foreignness, and which images are called foreign."""

    predicted: Ints
    foreign_score: Numbers
    foreign: Flags


@dataclass(frozen=True)
class Opinion:
    """What a contender says about N images; None where it says nothing.

    ``wrong_score`` grows with the doubt in a label. ``known_score`` and ``known_doubt`` are the same for images taken
    to be of a known class: a label is doubted also where the image is called foreign; by default they equal
    ``wrong_score`` and ``wrong``. ``confidence`` is that of the ``suggested`` other class, NaN where none is suggested.
    ``labels`` and ``kept`` are the corrected set. ``rates`` are those of "wrong", "foreign" and "either".
    """

    wrong_score: Numbers | None = None
    wrong: Flags | None = None
    known_score: Numbers | None = None
    known_doubt: Flags | None = None
    foreign_score: Numbers | None = None
    foreign: Flags | None = None
    suggested: Ints | None = None
    confidence: Numbers | None = None
    labels: Ints | None = None
    kept: Flags | None = None
    rates: dict[str, Rate] = field(default_factory=dict)
    tested: Tested | None = None
