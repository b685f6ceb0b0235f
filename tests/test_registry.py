"""Names of one's own: what is accepted, what is refused, and what is imported when."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from outside import install

from lond.errors import ConfigError
from lond.registry import Registry


class Own:
    """A part of the package."""


class First:
    """A part of somebody else's."""

    name = "first"


class Second:
    """A part whose name is that of the class."""


class Usurper:
    """A part with a name that is taken."""

    name = "own"


def make() -> Registry[type]:
    return Registry("gadget", "lond.gadgets", {"own": Own}, lambda part: "" if isinstance(part, type) else "no class")


def test_registered_parts_are_known_by_their_name() -> None:
    registry = make()
    assert registry.register(First) is First
    assert registry.name_of(Second) == "Second"
    assert registry.name_of(First) == registry.name_of("first") == "first"
    assert registry.name_of(Own) == "own"
    assert list(registry) == ["own", "first", "Second"]
    assert len(registry) == 3
    assert registry["first"] is First and "first" in registry and "second" not in registry
    registry.register(First, "another")
    assert registry["another"] is First


def test_a_class_that_is_defined_again_takes_its_own_place() -> None:
    registry = make()
    registry.register(First)
    again = type("First", (), {"name": "first", "__module__": First.__module__, "__qualname__": First.__qualname__})
    registry.register(again)
    assert registry["first"] is again
    with pytest.raises(ConfigError, match=r"test_registry:First is registered as the gadget 'first' already"):
        registry.register(Second, "first")


@pytest.mark.parametrize(
    ("part", "name", "message"),
    [
        (Usurper, "", "lond has a gadget 'own' of its own"),
        (First, "a,b", "its name must consist of letters"),
        (First, "../up", "its name must consist of letters"),
        (7, "seven", "cannot be the gadget 'seven': no class"),
    ],
)
def test_unusable_parts_are_refused(part: type, name: str, message: str) -> None:
    registry = make()
    with pytest.raises(ConfigError, match=message):
        registry.register(part, name)
    assert list(registry) == ["own"]


def test_an_unknown_name_gets_a_hint() -> None:
    registry = make()
    with pytest.raises(ConfigError, match=r"there is no gadget 'owm'; did you mean 'own'\? Known: own"):
        registry["owm"]
    with pytest.raises(ConfigError, match=r"there is no gadget 'magic'\. Known: own"):
        registry["magic"]


GADGETS = "class Wheel: pass\nclass Broken: pass\n"


def test_packages_are_imported_when_a_part_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "some-gadgets", {"some_gadgets": GADGETS}, {"lond.gadgets": {"wheel": "some_gadgets:Wheel"}})
    monkeypatch.syspath_prepend(tmp_path)
    registry = make()
    assert list(registry) == ["own", "wheel"]
    assert "wheel" in registry and "some_gadgets" not in sys.modules
    wheel = registry["wheel"]
    assert wheel is sys.modules["some_gadgets"].Wheel is registry["wheel"]
    assert registry.name_of(wheel) == "wheel"
    # A package may register by itself what it offers.
    assert registry.register(wheel, "wheel") is wheel and not registry.added
    assert registry.origin("wheel") == {
        "name": "wheel", "class": "some_gadgets:Wheel", "package": "some-gadgets", "version": "0.1",
    }  # fmt: skip
    assert registry.origin("own") == registry.origin("magic") == {}
    with pytest.raises(ConfigError, match=r"the package some-gadgets 0\.1 has a gadget 'wheel'"):
        registry.register(First, "wheel")
    sys.modules.pop("some_gadgets")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:Wheel", "'wheel' of the package gadgets 0.1 cannot be imported: ModuleNotFoundError"),
        ("failing_gadgets:Wheel", "cannot be imported: RuntimeError: no luck"),
        ("odd_gadgets:seven", "cannot be the gadget 'wheel': no class"),
    ],
)
def test_a_package_that_does_not_work_is_named(
    value: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {"failing_gadgets": "raise RuntimeError('no luck')\n", "odd_gadgets": "seven = 7\n"}
    install(tmp_path, "gadgets", modules, {"lond.gadgets": {"wheel": value}})
    monkeypatch.syspath_prepend(tmp_path)
    registry = make()
    assert "wheel" in registry
    with pytest.raises(ConfigError, match=message):
        registry["wheel"]


def test_packages_cannot_take_each_others_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "a", "first-gadgets", {}, {"lond.gadgets": {"wheel": "first_gadgets:Wheel"}})
    install(tmp_path / "b", "second-gadgets", {}, {"lond.gadgets": {"wheel": "second_gadgets:Wheel"}})
    install(tmp_path / "c", "third-gadgets", {}, {"lond.gadgets": {"own": "third_gadgets:Own"}})
    for name in "ab":
        monkeypatch.syspath_prepend(tmp_path / name)
    with pytest.raises(
        ConfigError, match=r"-gadgets 0\.1 offers a gadget 'wheel', but the package \w+-gadgets 0\.1 has"
    ):
        list(make())
    monkeypatch.undo()
    monkeypatch.syspath_prepend(tmp_path / "c")
    with pytest.raises(ConfigError, match=r"third-gadgets 0\.1 offers a gadget 'own', but lond has one of that name"):
        list(make())
    assert make()["own"] is Own


def test_what_is_missing_is_said_and_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tempting.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = make()
    passed = {"name": "lure", "class": "tempting:Lure"}
    with pytest.raises(ConfigError, match=r"runs/a was made with the gadget 'lure' \(tempting:Lure\).*") as told:
        registry.demand(passed, "runs/a")
    assert "call lond.gadgets.register(Lure) first" in str(told.value)
    with pytest.raises(ConfigError, match=r"of the package lures 2 \(tempting:Lure\), which is not installed here"):
        registry.demand({**passed, "package": "lures", "version": "2"}, "runs/a")
    registry.register(First, "lure")
    registry.demand(passed, "runs/a")
