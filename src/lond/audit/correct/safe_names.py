"""Names of folders and files that every file system takes and none misunderstands."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from lond.io.csv_files import printable

LONGEST = 200
"""Most bytes of a name; file systems allow 255, and a suffix may follow."""

_LONGEST_ENDING = 20
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u2028\u2029\u202a-\u202e\u2066-\u2069]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\.|$)", re.IGNORECASE)


def safe_name(name: str, ending: str = "") -> str:
    """Return a name for one folder or file: no path, not hidden, not reserved, not too long.

    What may not be in it becomes ``_``; a name that is too long is cut and gets part of a hash. A name that is fine
    stays as it is.

    Args:
        name: any text, also a hostile one.
        ending: what the name ends with, such as ".png"; it is kept if it can be.
    """
    ending = _cleaned(ending).rstrip(". ")
    ending = ending if len(ending.encode()) <= _LONGEST_ENDING else ""
    text = _cleaned(name)
    if not ending:
        # Windows drops dots and blanks at the end, so that two names would become one.
        text = re.sub(r"[. ]+$", lambda found: "_" * len(found[0]), text)
    # A leading dot hides a file, a leading blank or minus is mistaken by people and commands.
    text = re.sub(r"^[.\s-]", "_", text) or "_"
    text = f"_{text}" if _RESERVED.match(text + ending) else text
    room = LONGEST - len(ending.encode())
    if len(text.encode()) > room:
        mark = "_" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        text = text.encode()[: room - len(mark)].decode("utf-8", "ignore").rstrip(". ") + mark
    return text + ending


def _cleaned(name: str) -> str:
    return _FORBIDDEN.sub("_", printable(name))


class NameBook:
    """Gives out names that differ for every file system, also one that takes ``Cat`` and ``cat`` for the same."""

    def __init__(self, *taken: str) -> None:
        """Start with some names that are never given out."""
        self._taken = {_folded(name) for name in taken}
        self._last: dict[str, int] = {}

    def take(self, name: str, ending: str = "") -> str:
        """Return the safe form of a name, with ``_2``, ``_3``, ... before the ending if it was taken before."""
        safe = safe_name(name, ending)
        kept = ending if ending and safe.endswith(ending) else ""
        stem = safe.removesuffix(kept)
        found, key = safe, _folded(safe)
        number = self._last.get(key, 1)
        while _folded(found) in self._taken:
            number += 1
            found = f"{stem}_{number}{kept}"
        self._last[key] = number
        self._taken.add(_folded(found))
        return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
