"""Recipes: their occasions and their content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from lond.train.schedule import OptimiserSettings

S = TypeVar("S")


@dataclass(frozen=True)
class Occasion:
    """What published values depend on: the data set and its noise."""

    noise: Literal["symmetric", "asymmetric", "web"] = "web"
    """"web" means noise of unknown rate."""
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
class FeatureRun:
    """What settings for features of a frozen network may depend on."""

    images: int
    epochs: int
    is_own: bool
    """True for the user's own data, False for a benchmark."""


def as_they_are(settings: Any, run: Any) -> Any:
    """Return the settings."""
    return settings


def extended(wanted: type[S], settings: Any) -> S:
    """Return settings of a subclass: its own defaults, and whatever these settings have changed.

    Args:
        wanted: a subclass of the settings' class.
        settings: of a method that the other one extends.
    """
    default = type(settings)()
    values = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    return wanted(**{name: value for name, value in values.items() if value != getattr(default, name)})


@dataclass(frozen=True)
class Recipe:
    """The published values of one method for one occasion; None = those of the preset it is put into."""

    settings: Any
    """The method's settings."""
    optimiser: OptimiserSettings | None = None
    epochs: int | None = None
    batch_size: int | None = None
    batch_share: float = 1.0
    """Share of the preset's batch size that a method learns in which otherwise is trained as another one."""
    strong: str | None = None
    """Policy of the strong views, if the method wants another than the data set's."""
    # A step costs, in steps of plain cross-entropy: Co-teaching(+) 1.3, NPN 2.1, NGC and SED 2.3, NCE 2.5, Jo-SRC 2.6,
    # DivideMix 2.7, DISC and CIR+ 3.0, UNICON 3.1, LOND-DRS 9.5. On features an epoch has N / 256 steps of most methods
    # (CIFAR: 196), N / 128 for each of two networks of DivideMix, NCE and UNICON, 900 for CIR+. The limits there are
    # about three minutes a run.
    step_limits: Mapping[str, int] = field(default_factory=dict)
    """Name of a benchmark, or "frozen" for features of any -> most steps of a phase after warm-up there, for methods
    whose epochs take too long on two CPU cores. Half of a full epoch's steps stay in any case. Your own data are not
    limited."""
    pace: float = 1.0
    """Steps of a full phase after warm-up for each batch that the training set holds. It is 1 also where half of the
    images, those judged clean, are walked through in half batches. 0 = ``step_limits`` hold as they are."""
    when_short: Callable[[Any, int], Any] = as_they_are
    """Returns the settings for a run shorter than published, which has so many epochs after warm-up."""
    trains_as_heads: bool = False
    """On features of a frozen network: the optimiser that was chosen there for heads, not this one."""
    on_features: Callable[[Any, FeatureRun], Any] = as_they_are
    """Returns the settings for features of a frozen network from those at that length; what needs images goes off."""
