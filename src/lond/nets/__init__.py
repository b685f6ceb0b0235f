"""Networks: backbones, heads and prototypes; each forward pass returns one typed output."""

from lond.nets.backbones import (
    ALL_BACKBONES,
    BACKBONES,
    Backbone,
    BackboneSpec,
    build_backbone,
    native_size,
    register,
)
from lond.nets.classifier import Classifier, ClassifierOutput
from lond.nets.dual import DualNet, DualOutput
from lond.nets.efficientnet_lite import EfficientNetLite0, EfficientNetLite1, EfficientNetLite2
from lond.nets.heads import mlp_head
from lond.nets.seven_layer import SevenLayerCNN

__all__ = [
    "ALL_BACKBONES",
    "BACKBONES",
    "Backbone",
    "BackboneSpec",
    "Classifier",
    "ClassifierOutput",
    "DualNet",
    "DualOutput",
    "EfficientNetLite0",
    "EfficientNetLite1",
    "EfficientNetLite2",
    "SevenLayerCNN",
    "build_backbone",
    "mlp_head",
    "native_size",
    "register",
]
