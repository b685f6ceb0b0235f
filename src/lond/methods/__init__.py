"""Recipes: one method a file."""

from __future__ import annotations

from typing import Any

from lond.methods.base import Method, Survey, Task
from lond.methods.cir_plus import CirPlus, CirPlusSettings
from lond.methods.co_teaching import CoTeaching, CoTeachingSettings
from lond.methods.co_teaching_plus import CoTeachingPlus, CoTeachingPlusSettings
from lond.methods.disc import Disc, DiscSettings
from lond.methods.dividemix import DivideMix, DivideMixSettings
from lond.methods.jo_src import JoSrc, JoSrcSettings
from lond.methods.lond_drs import LondDrs, LondDrsSettings
from lond.methods.nce import Nce, NceSettings
from lond.methods.ngc import Ngc, NgcSettings
from lond.methods.npn import Npn, NpnHardSettings, NpnSoftSettings
from lond.methods.sed import Sed, SedSettings
from lond.methods.standard import Standard, StandardSettings
from lond.methods.unicon import Unicon, UniconSettings

METHODS: dict[str, tuple[type[Any], type[Any]]] = {
    "cir-plus": (CirPlus, CirPlusSettings),
    "co-teaching": (CoTeaching, CoTeachingSettings),
    "co-teaching-plus": (CoTeachingPlus, CoTeachingPlusSettings),
    "disc": (Disc, DiscSettings),
    "dividemix": (DivideMix, DivideMixSettings),
    "jo-src": (JoSrc, JoSrcSettings),
    "lond-drs": (LondDrs, LondDrsSettings),
    "nce": (Nce, NceSettings),
    "ngc": (Ngc, NgcSettings),
    "npn-hard": (Npn, NpnHardSettings),
    "npn-soft": (Npn, NpnSoftSettings),
    "sed": (Sed, SedSettings),
    "standard": (Standard, StandardSettings),
    "unicon": (Unicon, UniconSettings),
}
"""Name -> (method class, its settings class)."""

__all__ = [
    "METHODS",
    "CirPlus",
    "CirPlusSettings",
    "CoTeaching",
    "CoTeachingPlus",
    "CoTeachingPlusSettings",
    "CoTeachingSettings",
    "Disc",
    "DiscSettings",
    "DivideMix",
    "DivideMixSettings",
    "JoSrc",
    "JoSrcSettings",
    "LondDrs",
    "LondDrsSettings",
    "Method",
    "Nce",
    "NceSettings",
    "Ngc",
    "NgcSettings",
    "Npn",
    "NpnHardSettings",
    "NpnSoftSettings",
    "Sed",
    "SedSettings",
    "Standard",
    "StandardSettings",
    "Survey",
    "Task",
    "Unicon",
    "UniconSettings",
]
