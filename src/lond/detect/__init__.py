"""What is foreign: scores on logits and probabilities; larger = more foreign."""

from lond.detect.msp import msp_score
from lond.detect.open_world import open_world_score

__all__ = ["msp_score", "open_world_score"]
