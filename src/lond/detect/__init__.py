"""Detectors of foreign images: scores on features of a frozen network; larger = more foreign."""

from typing import TypeVar

from lond.detect.ash import ASH
from lond.detect.base import Detector, NotFittedError, wrong_with_detector
from lond.detect.dice import DICE
from lond.detect.ebo import EBO
from lond.detect.evidence import Evidence, trusted_only
from lond.detect.gradnorm import GradNorm
from lond.detect.knn import KNN
from lond.detect.mds import MDS
from lond.detect.mls import MLS, mls_score
from lond.detect.msp import MSP, msp_score
from lond.detect.network import AnyNetwork, ModuleNetwork, Network, NoNetworkError
from lond.detect.ngc_prototype import NGCPrototype
from lond.detect.nnguide import NNGuide
from lond.detect.open_world import OpenWorld, open_world_score
from lond.detect.openmax import OpenMax
from lond.detect.rankfeat import RankFeat
from lond.detect.react import ReAct
from lond.detect.rmds import RMDS
from lond.detect.scale import SCALE
from lond.detect.she import SHE
from lond.detect.temp_scaling import TempScaling
from lond.detect.vim import ViM
from lond.registry import Registry

D = TypeVar("D", bound=Detector)

DETECTORS: dict[str, type[Detector]] = {
    "msp": MSP,
    "temp-scaling": TempScaling,
    "mls": MLS,
    "ebo": EBO,
    "react": ReAct,
    "knn": KNN,
    "mds": MDS,
    "openmax": OpenMax,
    "rankfeat": RankFeat,
    "open-world": OpenWorld,
    "ngc-prototype": NGCPrototype,
    "vim": ViM,
    "ash": ASH,
    "scale": SCALE,
    "gradnorm": GradNorm,
    "dice": DICE,
    "she": SHE,
    "nnguide": NNGuide,
    "rmds": RMDS,
}
"""Name -> detector of this package."""

ALL_DETECTORS: Registry[type[Detector]] = Registry("detector", "lond.detect", DETECTORS, wrong_with_detector)
"""These, those that were registered, and those of installed packages (entry points of the group "lond.detectors")."""


def register(detector: type[D]) -> type[D]:
    """Register your own detector by its ``name``; also works as a decorator. Passing the class has the same effect.

    Raises:
        ConfigError: the name is taken, or the class lacks something.

    Examples:
        >>> class Mine(MSP):
        ...     name = "msp"
        >>> register(Mine)
        Traceback (most recent call last):
        ...
        lond.errors.ConfigError: lond has a detector 'msp' of its own: give yours another name
    """
    ALL_DETECTORS.register(detector)
    return detector


__all__ = [
    "ALL_DETECTORS",
    "ASH",
    "DETECTORS",
    "DICE",
    "EBO",
    "KNN",
    "MDS",
    "MLS",
    "MSP",
    "RMDS",
    "SCALE",
    "SHE",
    "AnyNetwork",
    "Detector",
    "Evidence",
    "GradNorm",
    "ModuleNetwork",
    "NGCPrototype",
    "NNGuide",
    "Network",
    "NoNetworkError",
    "NotFittedError",
    "OpenMax",
    "OpenWorld",
    "RankFeat",
    "ReAct",
    "TempScaling",
    "ViM",
    "mls_score",
    "msp_score",
    "open_world_score",
    "register",
    "trusted_only",
]
