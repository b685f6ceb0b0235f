"""What is learned: backbones, heads and prototypes; one forward returns one typed output."""

from lond.nets.backbones import BACKBONES, Backbone, build_backbone
from lond.nets.classifier import Classifier, ClassifierOutput
from lond.nets.dual import DualNet, DualOutput
from lond.nets.efficientnet_lite import EfficientNetLite0
from lond.nets.heads import mlp_head
from lond.nets.seven_layer import SevenLayerCNN

__all__ = [
    "BACKBONES",
    "Backbone",
    "Classifier",
    "ClassifierOutput",
    "DualNet",
    "DualOutput",
    "EfficientNetLite0",
    "SevenLayerCNN",
    "build_backbone",
    "mlp_head",
]
