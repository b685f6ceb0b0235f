"""Which cells there are: TUNE cells to choose on, JUDGE cells to report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

Part = Literal["tune", "judge"]

SEEDS: dict[Part, int] = {"tune": 0, "judge": 10}


@dataclass(frozen=True)
class Spec:
    """What a cell is made of."""

    name: str
    source: str
    """"cifar", "tiny", "digits", "people", or, to fit on only, "mnist" or "clusters": made-up features of any ease."""
    classes: int
    per_class: int
    family: str = "none"
    wrong: float = 0.0
    """Share of wrong labels among known images; of people's mistakes, the share that is kept."""
    foreign: float = 0.0
    """Share of foreign images in the set; of people's foreign images, the share that is kept."""
    far: bool = False
    """Foreign images come from another data set instead of from left-out classes."""
    foreign_labels: str = "uniform"
    tail: float = 1.0
    """Size of the largest class over that of the smallest."""
    whole_superclasses: bool = False
    ease: float = 0.0
    """To fit on only: how far every image is moved towards the mean of its true class (1 = all the way), as a stronger
    network would place it; if negative, the noise that is added, in standard deviations of the features."""
    half_scored: bool = False
    """Both halves of the human labels, of which only the one not tuned on is scored."""
    audited: bool = False
    """Small enough for ``lond audit``: all contenders are measured side by side."""
    part: Part = "judge"
    seed: int = 0


CELLS = (
    Spec("people10", "people", 10, 180, "people", 1, 1, audited=True),
    Spec("people15super", "people", 15, 120, "people", 1, 1, whole_superclasses=True, audited=True),
    Spec("people25", "people", 25, 90, "people", 1, 1, audited=True),
    Spec("people25all", "people", 25, 600, "people", 1, 1),
    Spec("people25half", "people", 25, 300, "people", 0.4, 0.5),
    Spec("uniform20+f10", "cifar", 16, 100, "uniform", 0.2, 0.1, audited=True),
    Spec("uniform50+f10", "cifar", 16, 300, "uniform", 0.5, 0.1),
    Spec("pair20+f10", "cifar", 16, 100, "pair", 0.2, 0.1, audited=True),
    Spec("pair40+far10", "cifar", 20, 150, "pair", 0.4, 0.1, far=True),
    Spec("superclass30+f8", "cifar", 15, 150, "superclass", 0.3, 0.08, False, "similar", whole_superclasses=True),
    Spec("weak30+f10", "cifar", 16, 100, "weak", 0.3, 0.1, False, "similar", audited=True),
    Spec("foreign10", "cifar", 16, 100, foreign=0.1, audited=True),
    Spec("foreign10similar", "cifar", 16, 150, foreign=0.1, foreign_labels="similar"),
    Spec("foreign20far", "cifar", 16, 150, foreign=0.2, far=True, foreign_labels="class"),
    Spec("wrong20", "cifar", 20, 150, "uniform", 0.2),
    Spec("wrong20weak", "cifar", 16, 150, "weak", 0.2),
    Spec("clean16", "cifar", 16, 100, audited=True),
    Spec("clean25", "cifar", 25, 200),
    Spec("tail", "cifar", 16, 300, "uniform", 0.2, 0.1, tail=20, audited=True),
    Spec("folder12x100", "tiny", 12, 100, "weak", 0.1, 0.1, True, audited=True),
    Spec("folder12x100uniform", "tiny", 12, 100, "uniform", 0.1, 0.1, True, audited=True),
    Spec("folder12x60similar", "tiny", 12, 60, "uniform", 0.15, 0.1, False, "similar"),
    Spec("folder12x100clean", "tiny", 12, 100),
    Spec("two100", "tiny", 2, 100, "uniform", 0.1, 0.1, True),
    Spec("digits-pair+f10", "digits", 8, 60, "pair", 0.2, 0.1, audited=True),
    Spec("digits-clean", "digits", 10, 60),
)
"""The cells of both parts; which classes and images they are drawn from differs by part."""

PEOPLE_50 = Spec("people50", "people", 50, 320, "people", 1, 1, half_scored=True)


def cells(part: Part) -> list[Spec]:
    """Return the cells of a part, those measured side by side first."""
    chosen = [*CELLS, PEOPLE_50] if part == "judge" else list(CELLS)
    chosen.sort(key=lambda spec: not spec.audited)
    return [replace(spec, part=part, seed=SEEDS[part]) for spec in chosen]


def drawn(count: int) -> list[Spec]:
    """Return TUNE cells of random families, rates, classes and sizes, to fit on besides the named ones.

    To so many of images, a third as many of made-up clusters are added.
    """
    images = [_draw(number, np.random.default_rng([number, 99])) for number in range(count)]
    made_up = [
        _draw(number, np.random.default_rng([number, 98]), "clusters") for number in range(count, 4 * count // 3)
    ]
    return images + made_up


def drawn_wider(count: int) -> list[Spec]:
    """Return so many more TUNE cells: more of handwritten digits, more noise, and features of any ease."""
    found = []
    for number in range(count):
        random = np.random.default_rng([number, 97])
        source = str(random.choice(["cifar", "tiny", "people", "mnist", "digits"], p=[0.3, 0.2, 0.2, 0.2, 0.1]))
        ease = 0.0 if random.random() < 0.3 else float(random.uniform(-1.5, 0.6))
        spec = _draw(number, random, source, most_wrong=0.6, most_foreign=0.35)
        found.append(replace(spec, name=f"wider{number}", ease=ease, seed=10_000 + number))
    return found


def _draw(
    number: int,
    random: np.random.Generator,
    source: str = "",
    most_wrong: float = 0.5,
    most_foreign: float = 0.25,
) -> Spec:
    drawn_source = str(random.choice(["cifar", "tiny", "people", "digits"], p=[0.45, 0.25, 0.25, 0.05]))
    source = source or drawn_source
    most, sizes = {
        "cifar": (40, [30, 60, 120, 200, 400]),
        "tiny": (40, [30, 60, 100]),
        "people": (25, [60, 150, 300]),
        "digits": (9, [30, 60, 90]),
        "mnist": (9, [30, 60, 120, 240]),
        "clusters": (30, [20, 40, 80, 160]),
    }[source]
    classes = int(np.exp(random.uniform(np.log(2), np.log(most + 1))))
    name, per_class, seed = f"drawn{number}", int(random.choice(sizes)), 100 + number
    if source == "people":
        shares = (1.0, 1.0) if random.random() < 0.5 else (float(random.random()), float(random.random()))
        whole = bool(random.random() < 0.5)
        return Spec(
            name, source, classes, per_class, "people", *shares, whole_superclasses=whole, part="tune", seed=seed
        )
    family = str(random.choice(["uniform", "pair", "superclass", "weak"]))
    wrong = 0.0 if random.random() < 0.25 else float(random.uniform(0.03, 0.4 if family == "pair" else most_wrong))
    foreign = 0.0 if random.random() < 0.3 else float(random.uniform(0.02, most_foreign))
    return Spec(
        name,
        source,
        classes,
        per_class,
        family if wrong else "none",
        min(wrong, 0.3) if classes <= 3 else wrong,
        foreign,
        bool(random.random() < 0.5) and source not in ("digits", "mnist", "clusters"),
        str(random.choice(["uniform", "similar", "similar", "class"])),
        float(random.choice([1, 1, 1, 10])),
        bool(random.random() < 0.4),
        part="tune",
        seed=seed,
    )
