"""CSV files that people open in spreadsheets: safe to open, and the same again when read back."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from lond.errors import DataError
from lond.io.atomic import write_atomically

SEPARATOR = "|"
"""Between several texts in one cell."""

# A spreadsheet runs a cell that begins so as a formula. Apostrophes in front count, or undoing would be ambiguous.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r]")
_PART = re.compile(r"((?:[^\\|]|\\.)*)(\||$)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\|])")


def neutralise(text: str) -> str:
    """Return the text with an apostrophe in front if a spreadsheet would take it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def undo_neutralise(text: str) -> str:
    """Return what ``neutralise`` was given."""
    return text[1:] if _NEUTRALISED.match(text) else text


def printable(text: str) -> str:
    r"""Return the text with what UTF-8 cannot hold (bytes of odd file names) written as ``\udcXX``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def join_texts(texts: Sequence[str]) -> str:
    r"""Return texts as one, ``|`` between them; ``|`` and ``\`` within one are written ``\|`` and ``\\``."""
    return SEPARATOR.join(text.replace("\\", "\\\\").replace(SEPARATOR, "\\|") for text in texts)


def split_texts(cell: str) -> tuple[str, ...]:
    """Return what ``join_texts`` joined; empty texts are left out, and a stray backslash stands for itself."""
    # A backslash at the very end escapes nothing, and the pattern would stop before it.
    cell = cell + "\\" if (len(cell) - len(cell.rstrip("\\"))) % 2 else cell
    parts = (match.group(1) for match in _PART.finditer(cell))
    return tuple(_ESCAPED.sub(r"\1", part) for part in parts if part)


def write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], as_is: Collection[str] = ()
) -> None:
    r"""Write a CSV file, atomically; None becomes an empty cell, bytes that are not UTF-8 ``\udcXX``.

    Args:
        path: file to write.
        columns: their names.
        rows: one value per column.
        as_is: columns whose text is written as it is, as numbers are; all other text is neutralised.
    """

    def fill(place: Path) -> None:
        with place.open("w", newline="", encoding="utf-8") as file:
            _fill(file, columns, rows, as_is, "\r\n")

    write_atomically(path, fill)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]], as_is: Collection[str] = ()) -> str:
    """Return what ``write_rows`` would write, for a terminal: with line feeds only."""
    file = io.StringIO()
    _fill(file, columns, rows, as_is, "\n")
    return file.getvalue()


def read_rows(path: Path, needed: Sequence[str], what: str, *, complete: bool = False) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file by column name, neutralised text undone, missing cells as empty text.

    The file is one of ``write_rows``, or what a spreadsheet made of it: comma, semicolon or tab; UTF-8.

    Args:
        path: the file.
        needed: columns without which it is not ``what``.
        what: what the file should be, for the message.
        complete: whether a row with missing cells is refused, as a sign that the file is cut off.

    Raises:
        DataError: the file cannot be read, lacks a column or (with ``complete``) a cell, or has a column twice.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=max((",", ";", "\t"), key=header.count), strict=True)
            _refuse_repeated(path, reader.fieldnames or ())
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(f"{path} is not {what}: it has no column {', '.join(missing)}")
            for number, row in enumerate(reader, 1):
                if complete:
                    _refuse_short(path, row, number)
                yield {name: undo_neutralise(row[name] or "") for name in reader.fieldnames or ()}
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}; give {what}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text; give {what}, saved as CSV in UTF-8") from error
    except (OSError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else f"{error}; is a quotation mark missing?"
        raise DataError(f"{path} cannot be read as a table ({why}); give {what}") from error


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1 and name})
    if repeated:
        raise DataError(f"{path} has more than one column called {', '.join(repeated[:5])}; keep one of each")


def _refuse_short(path: Path, row: Mapping[str, str | None], number: int) -> None:
    cells = [cell for cell in row.values() if cell is not None]
    if len(cells) < len(row):
        raise DataError(
            f"{path}, row {number} ({cells[0][:80]!r}): it has {len(cells)} of {len(row)} cells, so the file may be "
            "cut off; download it again, or complete the row"
        )


def _fill(
    file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[object]], as_is: Collection[str], end: str
) -> None:
    writer = csv.writer(file, lineterminator=end)
    writer.writerow(columns)
    safe = [name not in as_is for name in columns]
    writer.writerows([_cell(value, neutral) for value, neutral in zip(row, safe, strict=True)] for row in rows)


def _cell(value: object, neutral: bool) -> object:
    if not isinstance(value, str):
        return value
    return printable(neutralise(value) if neutral else value)
