"""What is foreign: scores on the evidence of a frozen network; larger = more foreign."""

from typing import TypeVar

from lond.detect.base import Detector, Network, NoNetworkError, NotFittedError, wrong_with_detector
from lond.detect.ebo import EBO
from lond.detect.evidence import Evidence, trusted_only
from lond.detect.knn import KNN
from lond.detect.mds import MDS
from lond.detect.mls import MLS, mls_score
from lond.detect.msp import MSP, msp_score
from lond.detect.ngc_prototype import NGCPrototype
from lond.detect.open_world import OpenWorld, open_world_score
from lond.detect.openmax import OpenMax
from lond.detect.rankfeat import RankFeat
from lond.detect.react import ReAct
from lond.detect.temp_scaling import TempScaling
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
}
"""Name -> detector of this package."""

ALL_DETECTORS: Registry[type[Detector]] = Registry("detector", "lond.detect", DETECTORS, wrong_with_detector)
"""These, those that were registered, and those of installed packages (entry points of the group "lond.detectors")."""


def register(detector: type[D]) -> type[D]:
    """Register your own detector by its ``name``; also works as a decorator. Passing the class somewhere does the same.

    Raises:
        ConfigError: the name is taken, or the class lacks something.
    """
    ALL_DETECTORS.register(detector)
    return detector


__all__ = [
    "ALL_DETECTORS",
    "DETECTORS",
    "EBO",
    "KNN",
    "MDS",
    "MLS",
    "MSP",
    "Detector",
    "Evidence",
    "NGCPrototype",
    "Network",
    "NoNetworkError",
    "NotFittedError",
    "OpenMax",
    "OpenWorld",
    "RankFeat",
    "ReAct",
    "TempScaling",
    "mls_score",
    "msp_score",
    "open_world_score",
    "register",
    "trusted_only",
]
