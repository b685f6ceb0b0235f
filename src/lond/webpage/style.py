"""How verdicts are drawn, and how untrusted names are made safe to show: one style for pages, notebooks and figures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lond.types import Verdict


@dataclass(frozen=True)
class VerdictStyle:
    """How a verdict is shown: colours on a light and on a dark ground, its sign as text and in figures, its meaning."""

    colour: str
    dark_colour: str
    sign: str
    marker: str
    means: str


VERDICT_STYLES = {
    Verdict.MISLABELLED: VerdictStyle("#c24e00", "#ff9a52", "▲", "^", "seems to belong to another class"),
    Verdict.FOREIGN: VerdictStyle("#0069ab", "#62b5f5", "■", "s", "seems to belong to no known class"),
    Verdict.DUPLICATE_CONFLICT: VerdictStyle("#9c2f83", "#ec93d4", "◆", "D", "repeated under different labels"),
    Verdict.UNLABELLED: VerdictStyle("#00775a", "#45cfa3", "✚", "P", "had no label"),
    Verdict.CLEAN: VerdictStyle("#6d7b8a", "#8b9aab", "●", "o", "agrees with its label"),
    Verdict.UNREADABLE: VerdictStyle("#3c424d", "#c6ccd6", "✕", "X", "cannot be opened"),
}
"""Every verdict, those first that a person should see first."""

_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_HALF = re.compile("[\ud800-\udfff]")


def shown(text: object, most: int = 60) -> str:
    """Return text made harmless to look at, in one line.

    What cannot be seen becomes visible, and what is longer than ``most`` characters loses its middle.
    """
    safe = str(text)
    if len(safe) > most:
        tail = (most - 1) // 2
        safe = f"{safe[: most - 1 - tail]}…{safe[len(safe) - tail :]}"
    safe = _HALF.sub("\N{REPLACEMENT CHARACTER}", safe).replace("\r\n", "↵").replace("\n", "↵")
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", safe)
