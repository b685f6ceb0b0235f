"""Settings of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from lond.audit.judge.learn import Learning
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.layout_map import MapKind
from lond.presets.for_audit import TrainingKind


@dataclass(frozen=True)
class AuditSettings:
    """Settings of an audit.

    Examples:
        >>> AuditSettings(folds=3, map="none").false_alarm_rate
        0.05
    """

    extractor: ExtractorSettings = ExtractorSettings(mirrored=False)
    train: TrainingKind = "heads"
    """"heads" on features of the frozen network, "finetune" it as a whole, or a network from "scratch"."""
    epochs: int = 0
    """Training epochs, a third of them warm-up; 0 = 9 for heads, 12 for fine-tuning, 60 from scratch."""
    seed: int = 0
    folds: int = 0
    """Cross-validation folds; 0 = 5, or 2 to 5 when networks are trained."""
    false_alarm_rate: float = Learning.false_alarm_rate
    """Share of new images of known classes that the audit's model may call foreign."""
    neighbours: int = 8
    """Number of nearest images in the table."""
    map: MapKind = "auto"
    """"tsne", "pca", "none", or "auto": t-SNE if openTSNE is installed, else principal components."""
    max_page_bytes: int = 40_000_000

    def __post_init__(self) -> None:
        """Check that the training is known, counts are large enough and the rate lies in (0, 1)."""
        if self.train not in get_args(TrainingKind):
            raise ConfigError(f"there is no training {self.train!r}; choose one of {', '.join(get_args(TrainingKind))}")
        if self.extractor.whole and self.train != "heads":
            raise ConfigError("whole pictures are for the frozen network; a trained one sees centre squares")
        if self.epochs == 1 or self.epochs < 0 or self.neighbours < 1:
            raise ConfigError("an audit needs at least 2 epochs (0 = the usual number) and 1 neighbour")
        if not 0 < self.false_alarm_rate < 1:
            raise ConfigError(f"the rate of false alarms must lie between 0 and 1, not be {self.false_alarm_rate}")
        if self.folds < 0 or self.folds == 1:
            raise ConfigError("folds must be at least 2, or 0 to choose by the number of images")
