"""What the paper's figures show. They print no values: what is known of them are the set-up and a few words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lond.paper.names import CIFAR_NOISES


@dataclass(frozen=True)
class Panel:
    """One figure, or one part of it.

    Examples:
        >>> [panel.kind for panel in panels("figure6")][:1]
        ['map']
    """

    experiment: str
    part: str
    """Where it stands in the figure; "" for the whole."""
    kind: Literal["drawing", "curves", "sweep", "map"]
    shows: str
    data: str = ""
    noises: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    """Contenders, as the paper names them."""
    metrics: tuple[str, ...] = ()
    """Names in a run's records; for a sweep their mean is drawn."""
    expected: str = ""
    """What the text says is to be seen."""


@dataclass(frozen=True)
class Sweep:
    """One hyper-parameter, varied while all others keep the preset's values.

    Examples:
        >>> from lond.paper import SWEEPS
        >>> SWEEPS[0].symbol, SWEEPS[0].key
        ('alpha_ID', 'settings.identify.clean_quantile')
    """

    experiment: str
    symbol: str
    key: str
    """Dotted configuration key."""
    values: tuple[float, ...]
    values_printed: bool
    """Whether the text gives the values; if not they are ours, around the value it recommends."""
    chosen: tuple[float, ...]
    """The recommended value for each noise."""
    noises: tuple[str, ...]
    expected: str


SWEEPS = (
    Sweep(
        "figure3", "alpha_ID", "settings.identify.clean_quantile", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), False,
        (0.9, 0.9, 0.9), CIFAR_NOISES, "rises up to 0.9, then falls steeply",
    ),
    Sweep(
        "figure3", "alpha_OOD", "settings.identify.open_share", (0.1, 0.2, 0.3, 0.4, 0.5), False,
        (0.1, 0.1, 0.1), CIFAR_NOISES, "falls as the share grows; best at 0.1",
    ),
    Sweep(
        "figure3", "lambda_Con", "settings.consistency_weight", (0.1, 0.3, 0.5, 0.7, 0.9), False,
        (0.5, 0.5, 0.5), CIFAR_NOISES, "best at a middling weight, 0.5",
    ),
    Sweep(
        "figure3", "lambda_BCL", "settings.contrastive_weight", (0.1, 0.3, 0.5, 0.7, 0.9), False,
        (0.3, 0.3, 0.3), CIFAR_NOISES, "best at a small weight, 0.3",
    ),
    Sweep(
        "figure4", "K", "settings.identify.top", (1, 2, 3, 4, 5), True,
        (3, 3, 1), CIFAR_NOISES, "symmetric noise: best at a middling K, 3; asymmetric noise: best at 1",
    ),
)  # fmt: skip
"""The sensitivity analyses, all on CIFAR80N."""

SCORE = ("accuracy", "auroc")

PANELS = (
    Panel("figure1", "left", "drawing", "the problem: closed-set and open-set noise in training, foreign test images"),
    Panel(
        "figure1", "right", "curves", "performance with and without open-set noise in the training set",
        "cifar80n", ("sym80",), ("CIR+", "Ours"), ("accuracy",),
        "open-set noise costs the earlier method much, the paper's own less",
    ),
    Panel("figure2", "", "drawing", "the two representation spaces, the identification, and which loss goes where"),
    *(
        Panel(
            sweep.experiment, sweep.symbol, "sweep", f"the effect of {sweep.symbol}",
            "cifar80n", sweep.noises, ("Ours",), SCORE, sweep.expected,
        )
        for sweep in SWEEPS
    ),
    Panel(
        "figure5", "", "curves", "neighbour margin against UNICON's selection, in the paper's own method",
        "cifar80n", ("asym40",), ("Ours", "UNICON"), ("label_accuracy", "accuracy"),
        "after the warm-up of 50 epochs the neighbour margin is ahead in label accuracy and in performance",
    ),
    Panel(
        "figure6", "", "map", "t-SNE of the learned representations, open-set images in black",
        "cifar80n", ("sym20",), ("SED", "NGC", "Ours"), (),
        "classes are tighter and further apart, and further from open-set images, with the paper's own method",
    ),
)  # fmt: skip
"""All figures, in the order of the paper."""


def panels(experiment: str) -> tuple[Panel, ...]:
    """Return the parts of one figure; none for a table.

    Examples:
        >>> panels("figure6")[0].kind
        'map'
    """
    return tuple(panel for panel in PANELS if panel.experiment == experiment)
