"""The scales that runs are made on, and which cells have a meaning on them. Importing it loads no network."""

from __future__ import annotations

from lond.errors import ConfigError
from lond.paper import DATA_SETS, Cell
from lond.results.records import PaperScale

SCALES: dict[PaperScale, str] = {
    "full": "the paper's data, networks and lengths",
    "mini": "mini80: 20 classes of CIFAR-100 at 16 pixels, 30 epochs, half the width",
    "frozen": "the paper's data as features of a frozen EfficientNet-Lite0, 9 epochs",
    "smoke": "scikit-learn's digits, 2 epochs: shows that everything runs, not how well",
}
"""Scale -> what it is."""

COMPARABLE: tuple[PaperScale, ...] = ("full", "frozen", "mini")
"""Scales on data of the paper, or a part of them: the difference to a printed value is told."""

WARMUP, LENGTH = "settings.warmup_epochs", "train.epochs"
"""Lengths that a cell changes: on every scale all epochs become warm-up, or the epochs of warm-up become all."""

AVERAGED = "train.average_last"
"""What changes with the second of them: the mean is over fewer epochs of a shorter run."""

OPEN_IMAGES = "data.benchmark.open_"
"""Beginning of the settings that add images of another data set."""


def checked_scale(name: str) -> PaperScale:
    """Return the scale of a name.

    Raises:
        ConfigError: there is none.
    """
    for scale in SCALES:
        if scale == name:
            return scale
    raise ConfigError(f"there is no scale {name!r}; choose one of: {', '.join(SCALES)}")


def why_left_out(cell: Cell, scale: PaperScale) -> str:
    """Return why a cell has no meaning on a scale; "" if it has one."""
    if cell.missing:
        return cell.missing
    if scale == "mini" and cell.data != "cifar80n":
        return f"mini80 stands for CIFAR80N; there is no reduced {DATA_SETS[cell.data].printed}"
    if scale == "frozen" and cell.detector == "rankfeat":
        return "RankFeat needs the maps of a network's last blocks; features of a frozen network have none"
    return ""
