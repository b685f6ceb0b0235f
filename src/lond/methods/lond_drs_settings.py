"""Settings of LOND-DRS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from lond.errors import ConfigError
from lond.identify import IdentifySettings
from lond.losses import MixedPairs
from lond.types import Epochs

Details = Literal["ours", "released"]
"""Source of the choices where the paper is silent: this package, or the authors' released program."""


@dataclass(frozen=True)
class Savings:
    """Passes through the network to skip; with none skipped, the method is the published one.

    Examples:
        >>> Savings(identify_every=2).survey_targets
        False
    """

    survey_targets: bool = False
    """Take targets from the pass over all images at the start of the epoch, instead of four passes per step."""
    consistency_on_supervised: bool = False
    """Compute the consistency loss on the mixed clean and closed batch; its two views then share one mixing."""
    contrast_on_supervised: bool = False
    """Compute the contrastive loss on the mixed clean and closed batch; open images are left out."""
    identify_every: int = 1
    """Number of epochs between two identifications."""
    one_view_targets: bool = False
    """Make targets from the weak view alone."""
    contrast_every: int = 1
    """Number of steps between two contrastive terms, whose weight is multiplied by it; at most those of an epoch."""
    consistency_every: int = 1
    """Number of steps between two consistency terms, whose weight is multiplied by it; at most those of an epoch."""

    def __post_init__(self) -> None:
        """Check that every term comes at all, and that no saving excludes another."""
        for name in ("identify_every", "contrast_every", "consistency_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1")
        for term in ("contrast", "consistency"):
            if getattr(self, f"{term}_on_supervised") and getattr(self, f"{term}_every") > 1:
                raise ConfigError(f"{term}_every has no effect with {term}_on_supervised: choose one of them")
        if self.survey_targets and self.one_view_targets:
            raise ConfigError("one_view_targets has no effect with survey_targets: choose one of them")


@dataclass(frozen=True)
class LondDrsSettings:
    """Settings of LOND-DRS; defaults are the paper's values for CIFAR. A weight of 0 switches its term off.

    Examples:
        >>> LondDrsSettings().warmup_epochs
        50
    """

    warmup_epochs: Epochs = 50
    identify: IdentifySettings = field(default_factory=IdentifySettings)
    mixup: float = 1.0
    """Concentration of the Beta distribution (0.5 for web data; 0 = no mixup)."""
    temperature: float = 0.1
    """tau of the prototype and contrastive losses."""
    sharpening: float = 0.5
    """T of the pseudo-labels."""
    embedding_size: int = 128
    one_vs_all_weight: float = 1.0
    prototype_weight: float = 1.0
    pseudo_label_weight: float = 1.0
    consistency_weight: float = 0.5
    """lambda_Con."""
    contrastive_weight: float = 0.3
    """lambda_BCL after warm-up."""
    warmup_contrastive_weight: float = 1.0
    warmup_prototype_weight: float = 0.0
    """10 for web data: prototypes start from the class means and are learned during warm-up too."""
    ramp_epochs: Epochs = 16
    """Epochs after warm-up over which the pseudo-label term rises to its full weight; 0 = at once (as printed)."""
    mixed_pairs: MixedPairs = "major"
    """Which sample a mixed view represents when the contrastive loss matches an anchor's minor partner: the one with
    the larger share ("major", as in the released program), or the smaller share ("minor", as in version 0.1.0)."""
    details: Details = "ours"
    """Choices where the paper is silent. "ours" scores higher on mini80.

    "released": every view of every stream passes through the network separately, with its own batch statistics; heads
    start from Kaiming-normal weights and zero biases, prototypes from unscaled means; the ramp-up changes once per
    epoch; the weights of Eq. 12 are not clipped. Use it with the learning-rate plan "late-cosine".
    """
    refine_clean_targets: bool = True
    """Mix the prototype prediction into the targets of clean samples, as released; otherwise use the given label."""
    savings: Savings = field(default_factory=Savings)
    """Passes to skip, for speed; none in the published method."""
    witness: bool = False
    """Train a second, plain network on all given labels, and use its largest logit for the foreign score.

    Not in the paper. Foreign training images have scattered labels, so this network assigns no class with confidence to
    them, while the main network never learns from samples that are not judged clean. Nothing else changes.
    """

    formerly: ClassVar[Mapping[str, Any]] = {"mixed_pairs": "minor"}

    def __post_init__(self) -> None:
        """Check that lengths and weights are not negative, and temperature and sharpening are positive."""
        if self.warmup_epochs < 0 or self.ramp_epochs < 0:
            raise ConfigError("warmup_epochs and ramp_epochs must not be negative")
        if self.mixup < 0:
            raise ConfigError("mixup must not be negative (0 switches mixing off)")
        if self.temperature <= 0 or self.sharpening <= 0:
            raise ConfigError("temperature and sharpening must be positive")
        if self.mixed_pairs not in ("major", "minor"):
            raise ConfigError(f"mixed_pairs must be 'major' or 'minor', not {self.mixed_pairs!r}")
        if self.details not in get_args(Details):
            raise ConfigError(f"details must be 'ours' or 'released', not {self.details!r}")
        weights = [getattr(self, name) for name in self.__dataclass_fields__ if name.endswith("_weight")]
        if min(weights) < 0:
            raise ConfigError("no weight may be negative (0 switches a term off)")
        if not any((self.one_vs_all_weight, self.prototype_weight, self.pseudo_label_weight)):
            raise ConfigError("one_vs_all_weight, prototype_weight and pseudo_label_weight must not all be 0")
