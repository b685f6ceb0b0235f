"""Batched augmentation of uint8 images on the device they are on."""

from lond.data.augment.geometry import affine, affine_matrix, crop_and_flip
from lond.data.augment.plans import AugmentationPlan, apply_plan
from lond.data.augment.policies import STRONG_POLICIES

__all__ = ["STRONG_POLICIES", "AugmentationPlan", "affine", "affine_matrix", "apply_plan", "crop_and_flip"]
