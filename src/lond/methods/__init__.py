"""Training methods, one per file."""

from __future__ import annotations

from typing import TypeVar

from lond.methods.base import Cost, Method, Survey, Task, wrong_with_method
from lond.methods.cir_plus import CirPlus, CirPlusSettings
from lond.methods.co_teaching import CoTeaching, CoTeachingSettings
from lond.methods.co_teaching_plus import CoTeachingPlus, CoTeachingPlusSettings
from lond.methods.cross_fit import CrossFit, CrossFitSettings
from lond.methods.disc import Disc, DiscSettings
from lond.methods.dividemix import DivideMix, DivideMixSettings
from lond.methods.jo_src import JoSrc, JoSrcSettings
from lond.methods.lond_drs import LondDrs
from lond.methods.lond_drs_fast import LondDrsFast, LondDrsFastSettings
from lond.methods.lond_drs_settings import LondDrsSettings, Savings
from lond.methods.nce import Nce, NceSettings
from lond.methods.ngc import Ngc, NgcSettings
from lond.methods.npn import Npn, NpnHard, NpnHardSettings, NpnSoft, NpnSoftSettings
from lond.methods.sed import Sed, SedSettings
from lond.methods.standard import Standard, StandardSettings
from lond.methods.unicon import Unicon, UniconSettings
from lond.registry import Registry

M = TypeVar("M", bound=Method)

METHODS: dict[str, type[Method]] = {
    "cir-plus": CirPlus,
    "co-teaching": CoTeaching,
    "co-teaching-plus": CoTeachingPlus,
    "cross-fit": CrossFit,
    "disc": Disc,
    "dividemix": DivideMix,
    "jo-src": JoSrc,
    "lond-drs": LondDrs,
    "lond-drs-fast": LondDrsFast,
    "nce": Nce,
    "ngc": Ngc,
    "npn-hard": NpnHard,
    "npn-soft": NpnSoft,
    "sed": Sed,
    "standard": Standard,
    "unicon": Unicon,
}
"""Name -> method of this package."""

ALL_METHODS: Registry[type[Method]] = Registry("method", "lond.methods", METHODS, wrong_with_method)
"""These, those that were registered, and those of installed packages (entry points of the group "lond.methods")."""


def register(method: type[M]) -> type[M]:
    """Register your own method by its ``name``; also works as a decorator. Passing the class has the same effect.

    Raises:
        ConfigError: the name is taken, or the class lacks something.

    Examples:
        >>> class Mine(Standard):
        ...     name = "standard"
        >>> register(Mine)
        Traceback (most recent call last):
        ...
        lond.errors.ConfigError: lond has a method 'standard' of its own: give yours another name
    """
    ALL_METHODS.register(method)
    return method


__all__ = [
    "ALL_METHODS",
    "METHODS",
    "CirPlus",
    "CirPlusSettings",
    "CoTeaching",
    "CoTeachingPlus",
    "CoTeachingPlusSettings",
    "CoTeachingSettings",
    "Cost",
    "CrossFit",
    "CrossFitSettings",
    "Disc",
    "DiscSettings",
    "DivideMix",
    "DivideMixSettings",
    "JoSrc",
    "JoSrcSettings",
    "LondDrs",
    "LondDrsFast",
    "LondDrsFastSettings",
    "LondDrsSettings",
    "Method",
    "Nce",
    "NceSettings",
    "Ngc",
    "NgcSettings",
    "Npn",
    "NpnHard",
    "NpnHardSettings",
    "NpnSoft",
    "NpnSoftSettings",
    "Savings",
    "Sed",
    "SedSettings",
    "Standard",
    "StandardSettings",
    "Survey",
    "Task",
    "Unicon",
    "UniconSettings",
    "register",
]
