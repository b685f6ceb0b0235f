"""What an audit found, as data: what figures, notebook and result read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from PIL import Image

from lond.audit.page.columns import sureness
from lond.audit.page.style import RATES, read_rate
from lond.audit.table import AuditTable
from lond.errors import ConfigError, DataError, counted
from lond.types import Verdict
from lond.webpage.style import VERDICT_STYLES, shown


def told_leaks(count: int) -> str:
    """Return in words how many images are in the test set as well."""
    return f"{counted(count, 'image')} {'is' if count == 1 else 'are'} in the test set as well"


@dataclass(frozen=True, repr=False)
class AuditContents:
    """A table of all images, a summary, a map, and access to the pictures."""

    title: str
    table: AuditTable
    class_names: tuple[str, ...]
    summary: dict[str, Any]
    positions: list[tuple[float, float]] | None
    thumbnail: Callable[[int], Image.Image | None]
    embeddings: NDArray[Any] | None = None
    """Features ``(N, D)`` that the images were judged by, zeros for unreadable ones; None for an audit read back."""

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.table)

    def __repr__(self) -> str:
        """Return counts and rates, as a few words."""
        counts = [f"{count:,} {verdict}" for verdict, count in self.counts.items() if count]
        rates = [
            f"estimated {name}: {rate}"
            for kind, (name, _) in RATES.items()
            if (rate := read_rate(self.summary.get("rates"), kind)) is not None
        ]
        lines = [f"{shown(self.title)}: {len(self):,} images, {len(self.class_names):,} classes", ", ".join(counts)]
        return "\n  ".join(line for line in (*lines, *rates) if line)

    @property
    def counts(self) -> dict[str, int]:
        """Number of images by verdict, also of those that no image has."""
        found = Counter(self.table.verdict)
        return {str(verdict): found[str(verdict)] for verdict in VERDICT_STYLES}

    def places(self, verdict: Verdict | str | None = None, label: str | None = None) -> list[int]:
        """Return the rows of the table with a verdict and a given label, those first that the audit is surest of.

        Args:
            verdict: "mislabelled", "foreign", ...; None takes all.
            label: a given label, "" for images without one; None takes all.

        Raises:
            ConfigError: there is no such verdict or class.
        """
        table = self.table
        if verdict is not None and verdict not in set(Verdict):
            raise ConfigError(f"{verdict!r} is not a verdict; it must be one of {', '.join(VERDICT_STYLES)}")
        if label is not None and label and label not in {*self.class_names, *table.label}:
            known = ", ".join(shown(name, 30) for name in self.class_names[:20])
            raise ConfigError(f"{label!r} is not a class; there are {known}{', ...' * (len(self.class_names) > 20)}")
        chosen = [
            place
            for place in range(len(table))
            if verdict in (None, table.verdict[place]) and label in (None, table.label[place])
        ]
        sure = sureness(table)
        # NaN differs from itself: images that nothing is known of come last.
        return sorted(chosen, key=lambda place: (sure[place] != sure[place], -sure[place], place))

    def select(self, verdict: Verdict | str | None = None, label: str | None = None) -> AuditTable:
        """Return the rows with a verdict and a given label, surest first; see ``places``."""
        return self.table.take(self.places(verdict, label))

    def picture(self, place: int) -> Image.Image | None:
        """Return a small picture of the image in a row of the table; None if it cannot be read (any more)."""
        try:
            picture = self.thumbnail(place)
        except (DataError, OSError):
            return None
        return None if picture is None else picture.convert("RGB")
