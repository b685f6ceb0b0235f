"""Identification of label noise: neighbours, margins, and the partition into clean, closed-set and open-set samples."""

from lond.identify.adaptive_confidence import learning_state, select_agreeing, select_confident, select_small_loss
from lond.identify.instance_threshold import InstanceSelection, follow_confidence, select_by_threshold
from lond.identify.label_propagation import (
    NeighbourGraph,
    conjugate_gradients,
    neighbour_graph,
    propagate_labels,
)
from lond.identify.label_votes import label_votes, scattered_labels
from lond.identify.largest_component import connected_components, largest_components, mutual_pairs
from lond.identify.loss_mixture import TwoGaussians, fit_two_gaussians, scale_to_unit, small_loss_posterior
from lond.identify.negative_margin import negative_margin, select_open
from lond.identify.neighbour_margin import clean_quota, neighbour_labels, neighbour_margin, select_clean
from lond.identify.neighbourhood import Corrections, correct_labels, label_divergences, verify_labels
from lond.identify.neighbours import Neighbours, nearest_neighbours
from lond.identify.partition import IdentifySettings, identify
from lond.identify.self_adaptive import (
    Moments,
    Thresholds,
    class_moments,
    given_probability,
    move_moments,
    move_thresholds,
    select_adaptively,
    truncated_gaussian_weights,
)
from lond.identify.small_loss import drop_rate, kept_count, smallest
from lond.identify.uniform_selection import UniformSelection, divergence_cutoff, divergence_weights, select_uniformly
from lond.identify.verdicts import judge
from lond.identify.view_agreement import Assignment, assign_by_views, rising_threshold

__all__ = [
    "Assignment",
    "Corrections",
    "IdentifySettings",
    "InstanceSelection",
    "Moments",
    "NeighbourGraph",
    "Neighbours",
    "Thresholds",
    "TwoGaussians",
    "UniformSelection",
    "assign_by_views",
    "class_moments",
    "clean_quota",
    "conjugate_gradients",
    "connected_components",
    "correct_labels",
    "divergence_cutoff",
    "divergence_weights",
    "drop_rate",
    "fit_two_gaussians",
    "follow_confidence",
    "given_probability",
    "identify",
    "judge",
    "kept_count",
    "label_divergences",
    "label_votes",
    "largest_components",
    "learning_state",
    "move_moments",
    "move_thresholds",
    "mutual_pairs",
    "nearest_neighbours",
    "negative_margin",
    "neighbour_graph",
    "neighbour_labels",
    "neighbour_margin",
    "propagate_labels",
    "rising_threshold",
    "scale_to_unit",
    "scattered_labels",
    "select_adaptively",
    "select_agreeing",
    "select_by_threshold",
    "select_clean",
    "select_confident",
    "select_open",
    "select_small_loss",
    "select_uniformly",
    "small_loss_posterior",
    "smallest",
    "truncated_gaussian_weights",
    "verify_labels",
]
