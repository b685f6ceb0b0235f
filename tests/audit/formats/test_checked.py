"""Labels with the word of a person."""

from __future__ import annotations

from lond.audit.formats.checked import Checked


def test_it_is_a_label_like_any_other() -> None:
    assert Checked("cat") == "cat" and {Checked("cat"): 1}["cat"] == 1
    assert isinstance(Checked("cat"), str) and not isinstance("cat", Checked)
