"""Registry of named parts: built in, registered by a program, or provided by installed packages.

Installed packages are asked only for a name that is not known otherwise, or for a list of all names; nothing of theirs
is imported before it is used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from lond.errors import ConfigError

T = TypeVar("T")


class Registry(Generic[T]):
    """Parts of one kind by name. It reads like a set of names; ``registry[name]`` is the part."""

    def __init__(
        self, kind: str, home: str, own: Mapping[str, T], check: Callable[[T], str], besides: str = ""
    ) -> None:
        """Start with the package's own parts.

        Args:
            kind: what a part is called; packages offer theirs as entry points of the group "lond.<kind>s".
            home: the module whose ``register`` a user calls.
            own: name -> part of this package.
            check: returns what is wrong with a part from outside; empty if nothing.
            besides: what else may be named, for the message about an unknown name.
        """
        self.kind, self.home, self.own, self.besides = kind, home, own, besides
        self.group = f"lond.{kind}s"
        self.added: dict[str, T] = {}
        self._check, self._loaded = check, dict[str, T]()

    def __getitem__(self, name: str) -> T:
        """Return the part of this name.

        Raises:
            ConfigError: there is none, or the package that offers it cannot be imported.
        """
        for known in (self.own, self.added, self._loaded):
            if name in known:
                return known[name]
        points = self._points()
        if name not in points:
            raise ConfigError(self._unknown(name))
        try:
            part: T = points[name].load()
        except Exception as error:
            raise ConfigError(
                f"the {self.kind} {name!r} of the package {_package(points[name])} cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        self._loaded[name] = self._checked(name, part)
        return part

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a part; it is not imported."""
        return name in self.own or name in self.added or name in self._points()

    def __iter__(self) -> Iterator[str]:
        """Yield all names: the package's own, registered ones, those of installed packages."""
        return iter([*self.own, *self.added, *sorted(self._points())])

    def __len__(self) -> int:
        """Return the number of names."""
        return len(list(iter(self)))

    def register(self, part: T, name: str = "") -> T:
        """Make a part known by ``name``, its attribute ``name`` or its own Python name, and return it.

        Raises:
            ConfigError: the name is taken or unusable, or the part is not of this kind.
        """
        name = name or getattr(part, "name", "") or getattr(part, "__name__", "")
        self._checked(name, part)
        if name in self.own:
            raise ConfigError(f"lond has a {self.kind} {name!r} of its own: give yours another name")
        if (point := self._points().get(name)) is not None:
            if point.value == _path(part):
                return part
            raise ConfigError(f"the package {_package(point)} has a {self.kind} {name!r}: give yours another name")
        # A cell of a notebook that is run again defines the same class anew.
        if name in self.added and _path(self.added[name]) != _path(part):
            raise ConfigError(
                f"{_path(self.added[name])} is registered as the {self.kind} {name!r} already: "
                f"give {_path(part)} another name"
            )
        self.added[name] = part
        return part

    def name_of(self, part: str | T) -> str:
        """Return the name of a part, which is registered if it is new; a name is returned as it is.

        Raises:
            ConfigError: it cannot be registered.
        """
        if isinstance(part, str):
            return part
        known = {**self.own, **self.added}
        found = [name for name, other in known.items() if other is part]
        found += [name for name, point in self._points().items() if point.value == _path(part)]
        if not found:
            self.register(part)
            found = [name for name, other in self.added.items() if other is part]
        return found[0]

    def origin(self, name: str) -> dict[str, str]:
        """Return where a part from outside comes from: its name, its class or function, and its package, if any.

        Empty for a part of this package and for a name that is unknown.
        """
        if name in self.own or name not in self:
            return {}
        origin = {"name": name, "class": _path(self[name])}
        point = None if name in self.added else self._points().get(name)
        if point is not None and point.dist is not None:
            origin |= {"package": point.dist.name, "version": point.dist.version}
        return origin

    def demand(self, origin: Mapping[str, str], what: str) -> None:
        """Check that a part is here that ``what``, such as a run folder, was made with.

        A file may name a class, but never has it imported: only an installed package or the caller brings one.

        Raises:
            ConfigError: it is not here; says how to get it.
        """
        if origin["name"] in self:
            return
        made = f"{what} was made with the {self.kind} {origin['name']!r}"
        if origin.get("package"):
            raise ConfigError(
                f"{made} of the package {origin['package']} {origin['version']} ({origin['class']}), which is not "
                f"installed here: install {origin['package']}, or import the class and call {self.home}.register"
            )
        raise ConfigError(
            f"{made} ({origin['class']}), which this program does not know: import it and call "
            f"{self.home}.register({origin['class'].rpartition(':')[2]}) first"
        )

    def _checked(self, name: str, part: T) -> T:
        problem = self._check(part)
        # Names become parts of file names, and stand between commas and before colons.
        if not problem and not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name, re.ASCII):
            problem = "its name must consist of letters, digits and . + - _"
        if problem:
            raise ConfigError(f"{_path(part)} cannot be the {self.kind} {name!r}: {problem}")
        return part

    def _points(self) -> dict[str, EntryPoint]:
        """Return the entry points of installed packages by name."""
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self.own or found.get(point.name, point).value != point.value:
                other = "lond" if point.name in self.own else f"the package {_package(found[point.name])}"
                raise ConfigError(
                    f"the package {_package(point)} offers a {self.kind} {point.name!r}, but {other} has one of that "
                    "name: uninstall one package, or let its author rename it"
                )
            found[point.name] = point
        return found

    def _unknown(self, name: str) -> str:
        names = list(self)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return f"there is no {self.kind} {name!r}{hint} Known: {', '.join(names)}{self.besides}"


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "(without a name)"


def _path(part: Any) -> str:
    """Return where a class or function is defined, as entry points write it."""
    return f"{getattr(part, '__module__', '?')}:{getattr(part, '__qualname__', repr(part))}"
