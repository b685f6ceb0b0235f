"""Split names and optional packages."""

import pytest

from lond.data.options import is_training, optional_import, split_names
from lond.errors import DataError, MissingDependencyError


def test_split_names_put_the_asked_one_first() -> None:
    assert split_names("val")[0] == "val" and "test" in split_names("val")
    assert is_training("train") and not is_training("val")
    with pytest.raises(DataError, match="unknown split"):
        split_names("holdout")


def test_optional_import_says_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match="pip install x"):
        optional_import("no_such_module_here", "pip install x")
