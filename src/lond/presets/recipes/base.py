"""What a recipe is made for, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lond.train.schedule import OptimiserSettings


@dataclass(frozen=True)
class Occasion:
    """What published values depend on: the data set and its noise."""

    noise: Literal["symmetric", "asymmetric", "web"] = "web"
    """"web" stands for noise that nobody has measured."""
    rate: float = 0.0
    """Closed-set noise rate among the known classes; 0 for web data."""
    benchmark: str = ""
    """Name of the benchmark, for values that were tuned on one; empty for a user's own images."""

    @property
    def few_classes(self) -> bool:
        """True unless the values published for CIFAR-100 fit (on CIFAR80N and CIFAR100N) or those for web data.

        It matters: squared errors are means over the classes, so their published weights grow with the classes. Those
        for CIFAR-10 are the safer choice where nobody has tuned them.
        """
        return self.noise != "web" and self.benchmark not in ("cifar80n", "cifar100n")


@dataclass(frozen=True)
class Recipe:
    """The published values of one method for one occasion; None = those of the preset it is put into."""

    settings: Any
    """The method's settings."""
    optimiser: OptimiserSettings | None
    epochs: int | None
    batch_size: int | None
    strong: str | None = None
    """Policy of the strong views, if the method wants another than the data set's."""
