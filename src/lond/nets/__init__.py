"""What is learned: backbones, heads and prototypes; one forward returns one typed output."""

from lond.nets.backbones import ALL_BACKBONES, BACKBONES, Backbone, BackboneSpec, build_backbone, register
from lond.nets.classifier import Classifier, ClassifierOutput
from lond.nets.dual import DualNet, DualOutput
from lond.nets.efficientnet_lite import EfficientNetLite0
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
    "SevenLayerCNN",
    "build_backbone",
    "mlp_head",
    "register",
]
