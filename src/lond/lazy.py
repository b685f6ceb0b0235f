"""Names of a package that are imported when they are first used, so that importing the package stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], public: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: the package's ``__name__``.
        homes: name -> module that is imported when the name is first used.
        public: the package's ``__all__``, which is what ``dir`` lists.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        # The next time the name is found without asking.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(public)

    return load, names
