"""An audit read back from its folder: table and summary, and from the page what only the page holds."""

from __future__ import annotations

import base64
import bisect
import io
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lond.audit.places import folder_of_source
from lond.audit.table import AuditTable
from lond.data.images import decode_bytes
from lond.errors import ConfigError, DataError, counted
from lond.io.csv_files import printable
from lond.io.json_files import parse_object, read_json

Positions = list[tuple[float, float]]

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_SHEET = re.compile(r'<script type="text/plain" id="sheet-\d+">([A-Za-z0-9+/=]*)</script>')
_THUMBNAIL = 192

SUMMARY = "summary.json"
"""Name of the summary in the folder of an audit."""
TABLE = "audit.csv"
PAGE = "audit.html"
PARQUET = "audit.parquet"
PARTS = "audit-parts"


def table_of(place: Path) -> Path:
    """Return the table of an audit by its folder; a path that is the table itself, or no audit, is returned as it is.

    Examples:
        >>> table_of(Path("audit/audit.csv")).name
        'audit.csv'
    """
    tables = (place / TABLE, place / PARQUET, place / PARTS)
    return next((table for table in tables if table.exists()), place)


def audited_folder(table: Path) -> Path | None:
    """Return the folder that an audit's paths start from, by the summary beside its table; None if it is not there.

    Examples:
        >>> audited_folder(Path("nowhere/audit.csv")) is None
        True
    """
    summary = table.parent / SUMMARY
    return folder_of_source(read_json(summary).get("source")) if summary.is_file() else None


def kept_decisions(folder: Path, key: str) -> Path:
    """Return where a folder keeps the decisions of a second look, by the key that its summary names."""
    return folder / f"decisions-{key}.csv"


def check_second_look(folder: Path) -> None:
    """Check that a folder holds no second look, which an audit without decisions would overwrite.

    Raises:
        ConfigError: it holds one; the message says how to keep it.
    """
    try:
        look = read_json(folder / SUMMARY).get("second_look")
    except DataError:
        return
    if not isinstance(look, dict):
        return
    kept = kept_decisions(folder, str(look.get("key", "")))
    file = f"--decisions {shlex.quote(str(kept))}" if kept.is_file() else "the same --decisions file"
    count = look.get("decided")
    images = counted(count, "decided image") if isinstance(count, int) else "some decided images"
    raise ConfigError(
        f"{folder} holds a second look with {images}, which an audit without "
        f"decisions would overwrite; give {file} to keep them, or another --out for an audit without them "
        f"(--cache {shlex.quote(str(folder / 'features'))} spares reading the images again)"
    )


def judged_before(folder: Path) -> dict[str, Any]:
    """Return how decided images had been judged before, by id, as the second look in a folder tells; empty if none."""
    try:
        look = read_json(folder / SUMMARY).get("second_look")
    except DataError:
        return {}
    told = look.get("judged") if isinstance(look, dict) else None
    return told if isinstance(told, dict) else {}


def next_commands(folder: str, source: object = None) -> tuple[str, str]:
    """Return what to run with decisions: another look, and the corrected set; ``SOURCE`` where it is not at hand.

    Examples:
        >>> next_commands("my audit")[1]
        "lond apply 'my audit' --decisions decisions.csv --out corrected --write"
    """
    place = shlex.quote(folder)
    audited = shlex.quote(source) if isinstance(source, str) and source and Path(source).exists() else "SOURCE"
    return (
        f"lond audit {audited} --out {place} --decisions decisions.csv",
        f"lond apply {place} --decisions decisions.csv --out corrected --write",
    )


def advice_after(folder: str, decided: int, source: object = None) -> str:
    """Return what to do after an audit of a source into which so many decisions went.

    Examples:
        >>> print(advice_after("audit", 0))
        decide on the page and download decisions.csv, then
          judge all images again:      lond audit SOURCE --out audit --decisions decisions.csv
          or write the corrected set:  lond apply audit --decisions decisions.csv --out corrected --write
    """
    if not decided:
        again, correct = next_commands(folder, source)
        return (
            "decide on the page and download decisions.csv, then\n"
            f"  judge all images again:      {again}\n"
            f"  or write the corrected set:  {correct}"
        )
    command = f"lond apply {shlex.quote(folder)} --out corrected --write"
    told = "your decision is" if decided == 1 else f"your {decided:,} decisions are"
    return f"{told} in this audit; next: {command} (add --decisions decisions.csv for new ones)"


@dataclass
class SavedPage:
    """What a page holds besides the table; ``rows`` says for each row of the table the page's row, -1 if none."""

    payload: dict[str, Any]
    sheets: list[str]
    rows: list[int]
    _opened: dict[int, Image.Image] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The page's title."""
        return str(self.payload["title"])

    def positions(self) -> Positions | None:
        """Return the map, NaN for rows without a place."""
        if self.payload["positions"] is None:
            return None
        points = _numbers(self.payload["positions"]).reshape(-1, 2).tolist()
        return [tuple(points[row]) if row >= 0 else (math.nan, math.nan) for row in self.rows]

    def thumbnails(self) -> Callable[[int], Image.Image | None]:
        """Return a function that gives the small picture of a row of the table, or None."""
        sprites = self.payload["sprites"]
        slots, sizes = _numbers(sprites["slots"]), _numbers(sprites["sizes"]).reshape(-1, 2)
        columns, firsts = int(sprites["columns"]), list(sprites["firsts"])
        # Pages of older versions have no margins around their pictures.
        margin = int(sprites.get("margin", 0))
        pitch = int(sprites["side"]) + 2 * margin

        def thumbnail(place: int) -> Image.Image | None:
            slot = int(slots[self.rows[place]]) if self.rows[place] >= 0 else -1
            if slot < 0:
                return None
            number = bisect.bisect_right(firsts, slot) - 1
            down, right = divmod(slot - firsts[number], columns)
            width, height = sizes[self.rows[place]].tolist()
            left, top = right * pitch + margin, down * pitch + margin
            return self._sheet(number).crop((left, top, left + width, top + height))

        return thumbnail

    def _sheet(self, number: int) -> Image.Image:
        if number not in self._opened:
            content = base64.b64decode(self.sheets[number])
            self._opened[number] = Image.open(io.BytesIO(content)).convert("RGB")
        return self._opened[number]


def read_page(path: Path, table: AuditTable) -> SavedPage | None:
    """Return what the page of a table holds; None if there is no page, or one of another version."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        found = _DATA.search(text)
        if found is None:
            return None
        payload = parse_object(found[1])
        # By their ids, as rows may have been taken out of the table since.
        at = {printable(name): row for row, name in reversed(list(enumerate(_texts(payload["columns"]["id"]))))}
        page = SavedPage(payload, _SHEET.findall(text), [at.get(printable(name), -1) for name in table.id])
        # Only to see whether all parts are there.
        _ = page.title, page.positions(), page.thumbnails()
    except (DataError, OSError, LookupError, TypeError, ValueError):
        return None
    return page


def read_summary(path: Path) -> dict[str, Any]:
    """Return an audit's summary.

    Raises:
        DataError: the file is missing or not a summary.
    """
    try:
        return read_json(path)
    except DataError as error:
        raise DataError(f"{error}; give the folder that an audit was saved in") from error


def writable(value: Any) -> Any:
    r"""Return a summary in which bytes of odd file names, which UTF-8 cannot hold, are written as ``\udcXX``."""
    if isinstance(value, dict):
        return {printable(str(key)): writable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [writable(part) for part in value]
    return printable(value) if isinstance(value, str) else value


def picture_of_file(path: Path) -> Image.Image | None:
    """Return an image file as a small picture; None if it is not there or cannot be read."""
    try:
        # A path of the table may name anything, also a pipe, from which reading would never end.
        if not path.is_file():
            return None
        picture = decode_bytes(path.read_bytes(), min_side=_THUMBNAIL)
    except (DataError, OSError, ValueError):
        return None
    picture.thumbnail((_THUMBNAIL, _THUMBNAIL))
    return picture


def _numbers(column: dict[str, Any]) -> NDArray[Any]:
    """Return what ``array_column`` encoded."""
    return np.frombuffer(base64.b64decode(column["data"]), dtype=np.dtype(f"<{column['type']}"))


def _texts(column: dict[str, Any]) -> list[str]:
    """Return what ``text_column`` encoded."""
    values: list[str] = column["values"]
    return values if column["type"] == "plain" else [values[code] for code in _numbers(column["codes"]).tolist()]
