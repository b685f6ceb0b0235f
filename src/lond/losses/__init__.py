"""What is minimised: pure functions, one value a sample, computed in log space."""

from lond.losses.bi_level_contrastive import bi_level_contrastive, mixed_bi_level_contrastive
from lond.losses.confidence_penalty import negative_entropy, prior_penalty
from lond.losses.consistency import one_vs_all_consistency
from lond.losses.jensen_shannon import jensen_shannon, jensen_shannon_to_label
from lond.losses.mixup import Mix, draw_mix, mix_inputs, mix_losses
from lond.losses.one_vs_all import log_odds, negative_probabilities, one_vs_all, positive_probabilities
from lond.losses.prototype import prototype_logits, soft_cross_entropy
from lond.losses.pseudo_label import pseudo_label_distance, sharpen

__all__ = [
    "Mix",
    "bi_level_contrastive",
    "draw_mix",
    "jensen_shannon",
    "jensen_shannon_to_label",
    "log_odds",
    "mix_inputs",
    "mix_losses",
    "mixed_bi_level_contrastive",
    "negative_entropy",
    "negative_probabilities",
    "one_vs_all",
    "one_vs_all_consistency",
    "positive_probabilities",
    "prior_penalty",
    "prototype_logits",
    "pseudo_label_distance",
    "sharpen",
    "soft_cross_entropy",
]
