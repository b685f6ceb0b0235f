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
"""Who decides where the paper is silent: this package, or the authors' released program."""


@dataclass(frozen=True)
class Savings:
    """Passes through the network to skip; with none skipped, the method is the published one.

    Examples:
        >>> Savings(identify_every=2).survey_targets
        False
    """

    survey_targets: bool = False
    """Make targets from what the identification saw of an image at the beginning of the epoch, not from four passes."""
    consistency_on_supervised: bool = False
    """Ask for consistency on the mixed clean and closed batch, both of whose views then share one mixing."""
    contrast_on_supervised: bool = False
    """Contrast the mixed clean and closed batch; open images are left out."""
    identify_every: int = 1
    """Epochs from one identification to the next."""

    def __post_init__(self) -> None:
        """Check that an identification comes at all."""
        if self.identify_every < 1:
            raise ConfigError("identify_every must be at least 1")


@dataclass(frozen=True)
class LondDrsSettings:
    """Settings of LOND-DRS; the paper's values for CIFAR. A weight of 0 switches its term off.

    Examples:
        >>> LondDrsSettings().warmup_epochs
        50
    """

    warmup_epochs: Epochs = 50
    identify: IdentifySettings = field(default_factory=IdentifySettings)
    mixup: float = 1.0
    """Concentration of the Beta distribution (0.5 for web data; 0 = no mixing)."""
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
    """What other mixed views stand for when the contrastive loss looks for an anchor's minor partner: the sample they
    show at the larger share (released program), or the one at the smaller share, as in version 0.1.0 ("minor")."""
    details: Details = "ours"
    """What is done where the paper is silent. "ours" measures better on mini80.

    "released": every view of every stream passes the network by itself, with its own batch statistics; heads start from
    Kaiming-normal weights and zero biases, prototypes from means that are not scaled; the ramp rises once an epoch; the
    weights of Eq. 12 know no clip. The plan "late-cosine" of the optimiser belongs to it.
    """
    refine_clean_targets: bool = True
    """Blend the prototype prediction into the targets of clean samples (the released program); else the given label."""
    savings: Savings = field(default_factory=Savings)
    """Passes to leave out, for speed; none in the published method."""
    witness: bool = False
    """Train a second, plain network on every given label, and read the foreign score from it (its largest logit).

    Not in the paper. Foreign images in the training set carry scattered labels, so this network finds no class likely
    for them, while the other one never learns from samples that are not judged clean. It changes nothing else.
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
