"""What is trusted: neighbours, margins, and the partition into clean, closed-set and open-set samples."""

from lond.identify.negative_margin import negative_margin, select_open
from lond.identify.neighbour_margin import clean_quota, neighbour_labels, neighbour_margin, select_clean
from lond.identify.neighbours import Neighbours, nearest_neighbours
from lond.identify.partition import IdentifySettings, identify
from lond.identify.verdicts import judge

__all__ = [
    "IdentifySettings",
    "Neighbours",
    "clean_quota",
    "identify",
    "judge",
    "nearest_neighbours",
    "negative_margin",
    "neighbour_labels",
    "neighbour_margin",
    "select_clean",
    "select_open",
]
