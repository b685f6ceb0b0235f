"""What a class needs to be a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from lond.config import settings_class
from lond.errors import ConfigError
from lond.methods import ALL_METHODS, METHODS, Method, Standard, StandardSettings, register
from lond.paper.names import METHOD_NAMES
from lond.presets.benchmarks import preset


@dataclass
class Thawed:
    """Settings that can be changed."""


@dataclass(frozen=True)
class Open:
    """Settings without a default."""

    rate: float


def test_the_papers_methods_are_among_them() -> None:
    assert set(METHOD_NAMES.values()) <= set(METHODS) <= set(ALL_METHODS)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (StandardSettings, "it is no subclass of lond.methods.Method"),
        (7, "it is no subclass of lond.methods.Method"),
        (type("Half", (Method,), {}), "it does not define before_epoch, network, predict, step"),
        (type("Own", (Standard,), {"settings_class": None}), "settings_class must be a frozen dataclass"),
        (type("Own", (Standard,), {"settings_class": Thawed}), "settings_class must be a frozen dataclass"),
        (type("Own", (Standard,), {"settings_class": Open}), "every setting of Open needs a default"),
        (type("Own", (Standard,), {"name": "sed"}), "lond has a method 'sed' of its own"),
    ],
)
def test_a_class_that_lacks_something_is_refused(part: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        register(part)


def test_a_registered_class_is_a_method_by_name() -> None:
    @register
    class Plain(Standard):
        """Nothing new."""

    assert ALL_METHODS["Plain"] is Plain
    assert settings_class("Plain") is StandardSettings
    assert preset("digits", "Plain") == preset("digits", Plain)
    assert preset("digits", Standard) == preset("digits", "standard")
