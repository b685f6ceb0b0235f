"""Every error of the user's side can be caught as one."""

from __future__ import annotations

import pytest

from lond.errors import CollapseError, ConfigError, DataError, LondError, MissingDependencyError


@pytest.mark.parametrize("kind", [CollapseError, ConfigError, DataError, MissingDependencyError])
def test_all_are_caught_together_and_keep_their_text(kind: type[LondError]) -> None:
    with pytest.raises(LondError) as caught:
        raise kind("what to do")
    assert str(caught.value) == "what to do"


def test_a_missing_package_is_an_import_error_and_the_kinds_are_apart() -> None:
    assert issubclass(MissingDependencyError, ImportError)
    # Errors of the program itself must not pass for the user's.
    assert not issubclass(LondError, ValueError | OSError | RuntimeError)
    assert not issubclass(DataError, ConfigError) and not issubclass(ConfigError, DataError)
