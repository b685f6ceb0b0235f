"""Thumbnails as sheets of many pictures each, as large as a number of bytes allows."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image, features

from lond.audit.page.columns import array_column
from lond.errors import DataError

SIDES = (192, 128, 96, 64, 48, 32)
"""Longest sides of a thumbnail that are tried, in pixels; multiples of a codec's block."""

MARGIN = 8
"""Pixels around each thumbnail in which its edges are repeated: as far as codecs blend neighbours, half a block."""

USUAL_SIDE = 96
LARGE_BUDGET = 30_000_000
"""Bytes that thumbnails larger than ``USUAL_SIDE`` may take: they are easier to judge by, but slower to open."""

COLUMNS = 16
"""Thumbnails in a row of a sheet, and rows in a full sheet."""

_QUALITY = {192: 80, 128: 80, 96: 80, 64: 78, 48: 76, 32: 74}
_SAMPLE = 192
_PER_SHEET = COLUMNS * COLUMNS
_ELEMENT = 64
"""Bytes around the text of one sheet in the page, at most."""

Thumbnails = Callable[[int], Image.Image | None]


@dataclass
class Sprites:
    """Sheets of thumbnails of N rows.

    ``slots`` is (N,) int32, the place in the sheets or -1; ``sizes`` (N, 2) uint8, width and height.
    """

    side: int
    slots: NDArray[np.int32]
    sizes: NDArray[np.uint8]
    sheets: list[bytes] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    used: int = 0

    @property
    def count(self) -> int:
        """Number of rows with a thumbnail."""
        return int((self.slots >= 0).sum())

    def description(self) -> dict[str, Any]:
        """Return what the page's script must know to cut a thumbnail out of its sheet."""
        return {
            "side": self.side,
            "margin": MARGIN,
            "columns": COLUMNS,
            "mime": f"image/{_codec().lower()}",
            "firsts": self.firsts,
            "count": self.count,
            "slots": array_column(self.slots),
            "sizes": array_column(self.sizes.reshape(-1)),
        }

    def add(self, cells: Sequence[tuple[int, Image.Image]], budget: int) -> bool:
        """Append a sheet of (row, thumbnail), if all sheets together stay within the budget."""
        sheet = _encode([picture for _, picture in cells], self.side)
        used = self.used + 4 * -(-len(sheet) // 3) + _ELEMENT
        if used > budget:
            return False
        first = self.count
        for place, (row, picture) in enumerate(cells):
            self.slots[row] = first + place
            self.sizes[row] = picture.size
        self.sheets.append(sheet)
        self.firsts.append(first)
        self.used = used
        return True

    @classmethod
    def empty(cls, rows: int, side: int) -> Self:
        """Return no sheets yet."""
        return cls(side, np.full(rows, -1, dtype=np.int32), np.zeros((rows, 2), dtype=np.uint8))


def no_sprites(rows: int) -> Sprites:
    """Return what a page without thumbnails has."""
    return Sprites.empty(rows, 0)


def make_sprites(order: Sequence[int], thumbnails: Thumbnails, *, budget: int) -> Sprites:
    """Return the thumbnails of all rows at the largest side that fits into ``budget`` bytes of base64.

    Args:
        order: all rows; those at the beginning get a thumbnail first if not all fit.
        thumbnails: row -> picture or None.
        budget: bytes of all sheets in the page.
    """
    for side in _promising(order, thumbnails, budget):
        sprites = _fill(order, thumbnails, side, allowed(side, budget), last=side == SIDES[-1])
        if sprites is not None:
            return sprites if sprites.sheets else no_sprites(len(order))
    return no_sprites(len(order))


def _promising(order: Sequence[int], thumbnails: Thumbnails, budget: int) -> Iterator[int]:
    """Yield the sides worth a try, largest first, from what some images take at each; smaller ones only if asked."""
    sample = [order[place] for place in np.unique(np.linspace(0, len(order) - 1, _SAMPLE).astype(int))] if order else []
    pictures = [picture for row in sample if (picture := _picture(row, thumbnails, SIDES[0])) is not None]
    longest = max((max(picture.size) for picture in pictures), default=0)
    largest = min(side for side in SIDES if side >= longest)
    for side in SIDES[SIDES.index(largest) : -1]:
        bytes_of_sample = len(_encode([_shrunk(picture, side) for picture in pictures], side))
        if bytes_of_sample / len(sample) * len(order) * 4 / 3 <= allowed(side, budget):
            yield side
    yield SIDES[-1]


def allowed(side: int, budget: int) -> int:
    """Return how many bytes thumbnails of a side may take."""
    return min(budget, LARGE_BUDGET) if side > USUAL_SIDE else budget


def _fill(order: Sequence[int], thumbnails: Thumbnails, side: int, budget: int, *, last: bool) -> Sprites | None:
    """Return the sheets at one side; None if they do not fit and a smaller side is left to try."""
    sprites = Sprites.empty(len(order), side)
    for cells in _batches(order, thumbnails, side):
        if sprites.add(cells, budget):
            continue
        if not last:
            return None
        while (cells := cells[: len(cells) // 2]) and not sprites.add(cells, budget):
            pass
        return sprites
    return sprites


def _batches(order: Sequence[int], thumbnails: Thumbnails, side: int) -> Iterator[list[tuple[int, Image.Image]]]:
    cells: list[tuple[int, Image.Image]] = []
    for row in order:
        picture = _picture(row, thumbnails, side)
        if picture is not None:
            cells.append((row, picture))
        if len(cells) == _PER_SHEET:
            yield cells
            cells = []
    if cells:
        yield cells


def _picture(row: int, thumbnails: Thumbnails, side: int) -> Image.Image | None:
    try:
        picture = thumbnails(row)
    except DataError:
        return None
    return None if picture is None else _shrunk(picture.convert("RGB"), side)


def _shrunk(picture: Image.Image, side: int) -> Image.Image:
    scale = side / max(picture.size)
    if scale >= 1:
        return picture
    width, height = (max(1, round(scale * length)) for length in picture.size)
    return picture.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3.0)


def _encode(pictures: Sequence[Image.Image], side: int) -> bytes:
    rows, pitch = -(-len(pictures) // COLUMNS), side + 2 * MARGIN
    sheet = Image.new("RGB", (pitch * min(COLUMNS, len(pictures)), pitch * rows), (128, 128, 128))
    for place, picture in enumerate(pictures):
        sheet.paste(_padded(picture, pitch), (pitch * (place % COLUMNS), pitch * (place // COLUMNS)))
    file = io.BytesIO()
    codec = _codec()
    options: dict[str, Any] = {"method": 3} if codec == "WEBP" else {"optimize": True}
    sheet.save(file, codec, quality=_QUALITY[side], **options)
    return file.getvalue()


def _padded(picture: Image.Image, pitch: int) -> Image.Image:
    """Return a square with a picture in it, whose edges are repeated on all sides."""
    width, height = picture.size
    rest = ((MARGIN, pitch - MARGIN - height), (MARGIN, pitch - MARGIN - width), (0, 0))
    return Image.fromarray(np.pad(np.asarray(picture), rest, mode="edge"))


def _codec() -> str:
    return "WEBP" if features.check("webp") else "JPEG"
