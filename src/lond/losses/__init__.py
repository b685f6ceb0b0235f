"""Losses: pure functions that return one value per sample, computed in log space.

They take PyTorch tensors, because gradients need them; ``torch.as_tensor`` turns a NumPy array into one.
"""

from lond.losses.bi_level_contrastive import MixedPairs, bi_level_contrastive, mixed_bi_level_contrastive
from lond.losses.binary_bank import binary_bank, draw_others, hard_negative_bank, hardest_other, random_negative_bank
from lond.losses.confidence_penalty import negative_entropy, prior_penalty
from lond.losses.consistency import one_vs_all_consistency
from lond.losses.generalised_cross_entropy import generalised_cross_entropy
from lond.losses.jeffreys import jeffreys_divergence
from lond.losses.jensen_shannon import jensen_shannon, jensen_shannon_to_label
from lond.losses.mixup import Mix, draw_mix, mix_inputs, mix_losses
from lond.losses.negative_learning import log_complements, negative_learning
from lond.losses.nt_xent import nt_xent
from lond.losses.one_vs_all import log_odds, negative_probabilities, one_vs_all, positive_probabilities
from lond.losses.prototype import prototype_logits, soft_cross_entropy
from lond.losses.pseudo_label import pseudo_label_distance, refined_targets, sharpen, voted_targets
from lond.losses.subgraph_contrastive import instance_contrastive, subgraph_contrastive

__all__ = [
    "Mix",
    "MixedPairs",
    "bi_level_contrastive",
    "binary_bank",
    "draw_mix",
    "draw_others",
    "generalised_cross_entropy",
    "hard_negative_bank",
    "hardest_other",
    "instance_contrastive",
    "jeffreys_divergence",
    "jensen_shannon",
    "jensen_shannon_to_label",
    "log_complements",
    "log_odds",
    "mix_inputs",
    "mix_losses",
    "mixed_bi_level_contrastive",
    "negative_entropy",
    "negative_learning",
    "negative_probabilities",
    "nt_xent",
    "one_vs_all",
    "one_vs_all_consistency",
    "positive_probabilities",
    "prior_penalty",
    "prototype_logits",
    "pseudo_label_distance",
    "random_negative_bank",
    "refined_targets",
    "sharpen",
    "soft_cross_entropy",
    "subgraph_contrastive",
    "voted_targets",
]
