"""How verdicts look, and names of strangers that do no harm."""

from __future__ import annotations

import re

import pytest

from lond.types import Verdict
from lond.webpage.style import VERDICT_STYLES, shown


def test_every_verdict_has_a_look_of_its_own() -> None:
    assert set(VERDICT_STYLES) == set(Verdict)
    for part in ("colour", "dark_colour", "sign", "marker", "means"):
        assert len({getattr(look, part) for look in VERDICT_STYLES.values()}) == len(VERDICT_STYLES), part


def test_what_needs_attention_comes_first() -> None:
    order = list(VERDICT_STYLES)
    assert order[:2] == [Verdict.MISLABELLED, Verdict.FOREIGN]
    assert order[-2:] == [Verdict.CLEAN, Verdict.UNREADABLE]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("verdict", VERDICT_STYLES)
def test_signs_can_be_told_from_their_ground(verdict: Verdict) -> None:
    """At least 3 : 1 (WCAG, for graphics) on white and on black."""
    look = VERDICT_STYLES[verdict]
    assert re.fullmatch("#[0-9a-f]{6}", look.colour) and re.fullmatch("#[0-9a-f]{6}", look.dark_colour)
    assert 1.05 / (luminance(look.colour) + 0.05) >= 3
    assert (luminance(look.dark_colour) + 0.05) / 0.05 >= 3


@pytest.mark.parametrize(
    ("text", "most", "seen"),
    [
        ("plain ä 漢", 60, "plain ä 漢"),
        ("a\nb\r\nc", 60, "a↵b↵c"),
        ("\u202egnp", 60, "⟨U+202E⟩gnp"),
        ("tab\t\x1b[31m", 60, "tab⟨U+0009⟩⟨U+001B⟩[31m"),
        ("half\udc80", 60, "half\N{REPLACEMENT CHARACTER}"),
        ("0123456789", 10, "0123456789"),
        ("0123456789x", 10, "01234…789x"),
        ("abcdef", 1, "…"),
        (12, 60, "12"),
    ],
)
def test_what_cannot_be_seen_becomes_visible_and_what_is_long_short(text: object, most: int, seen: str) -> None:
    assert shown(text, most) == seen
