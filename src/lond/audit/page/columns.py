"""The table as compact columns for the page's script: numbers as base64, repeated texts as codes."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.audit.table import HARD_TO_SEE, NUMBERS, SEEN_IN_PART, AuditTable
from lond.types import Verdict

HARDLY_SURE = 0.5
"""A verdict on a picture that is hard to see and that doubts its label is taken for no surer than this."""

DERIVED = ("wrong_if_known",)
"""Columns of numbers that follow from others, and need no room on the page."""

EncodedColumn = dict[str, Any]
"""JSON of one column; ``type`` says which kind."""


def plain_json(value: object) -> str:
    """Return JSON that may stand inside a script element: ASCII, without ``<``, ``>``, ``&`` and NaN."""
    text = json.dumps(_finite(value), separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def encode_columns(table: AuditTable, class_names: Sequence[str]) -> dict[str, Any]:
    """Return all columns by name, with ``labels`` as the vocabulary of both label columns.

    References to other images are row numbers; -1 stands for none, and from N on they count ``strangers``, the ids
    that are not in the table.
    """
    labels = list(dict.fromkeys([*class_names, *table.label, *table.suggested_label]))
    labels = [name for name in labels if name]
    code = {name: number for number, name in enumerate(labels)}
    rows = _References(table.id)
    width = max((len(ids) for ids in table.neighbours), default=0)
    neighbours = [rows.place(name) for ids in table.neighbours for name in [*ids, *[""] * (width - len(ids))]]
    columns: dict[str, Any] = {
        "id": text_column(table.id),
        "path": {"type": "same", "as": "id"} if table.path == table.id else text_column(table.path),
        "labels": labels,
        "label": array_column(code.get(name, -1) for name in table.label),
        "suggested_label": array_column(code.get(name, -1) for name in table.suggested_label),
        "verdict": text_column(table.verdict, always_codes=True),
        "reason": text_column(table.reason),
        "duplicate_of": array_column(rows.place(name) for name in table.duplicate_of),
        "neighbours": array_column(neighbours) | {"width": width},
        "copy": text_column(table.copy, always_codes=True),
        "decided": text_column(table.decided, always_codes=True),
        "quality": flag_column(table.quality),
        "sureness": array_column(sureness(table)),
        "rank": array_column(np.argsort(need_order(table)).astype(np.int32)),
    }
    columns |= {
        name: array_column(np.asarray(getattr(table, name), dtype=np.float32))
        for name in NUMBERS
        if name not in DERIVED
    }
    return columns | {"strangers": rows.strangers}


def encode_positions(positions: Sequence[tuple[float, float]]) -> EncodedColumn:
    """Return (N, 2) positions in one column, both axes moved into [0, 1] by one common scale."""
    points = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    points[~np.isfinite(points).all(axis=1)] = np.nan
    if np.isfinite(points).any():
        low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
        span = float(max(high - low)) or 1.0
        points = (points - (low + high) / 2) / span + 0.5
    return array_column(points.astype(np.float32).reshape(-1))


def array_column(values: Iterable[int] | NDArray[Any]) -> EncodedColumn:
    """Return numbers as base64 of little-endian float32 ("f4"), int32 ("i4"), uint16 ("u2") or uint8 ("u1")."""
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values), dtype=np.int32)
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return {"type": kind, "data": base64.b64encode(data).decode()}


def text_column(values: Sequence[str], *, always_codes: bool = False) -> EncodedColumn:
    """Return texts as they are, or as codes into their distinct values where that is shorter."""
    distinct = list(dict.fromkeys(values))
    if not always_codes and 2 * len(distinct) > len(values):
        return {"type": "plain", "values": list(values)}
    code = {value: number for number, value in enumerate(distinct)}
    kind = np.uint8 if len(distinct) <= 2**8 else np.uint16 if len(distinct) <= 2**16 else np.int32
    codes = np.asarray([code[value] for value in values], dtype=kind)
    return {"type": "codes", "values": distinct, "codes": array_column(codes)}


def flag_column(values: Sequence[Sequence[str]]) -> EncodedColumn:
    """Return several texts a row as bits, the first distinct text being bit 0; at most 31 different texts."""
    names = list(dict.fromkeys(text for texts in values for text in texts))
    bit = {name: 1 << number for number, name in enumerate(names)}
    return {"values": names, "bits": array_column(sum(bit[text] for text in set(texts)) for texts in values)}


def sureness(table: AuditTable) -> NDArray[np.float32]:
    """Return how sure the audit is of each verdict, (N,): its confidence, or 1 - p-value where an older audit has none.

    NaN where there is neither.
    """
    confidence, p_value = (np.asarray(column, dtype=np.float32) for column in (table.confidence, table.p_value))
    foreign = np.asarray([verdict == Verdict.FOREIGN for verdict in table.verdict], dtype=bool)
    return np.where(foreign & np.isnan(confidence), 1 - p_value, confidence).astype(np.float32)


def need_order(table: AuditTable) -> list[int]:
    """Return all rows, those first of which a decision would mend and teach most: the least sure verdicts.

    A verdict is wrong as often as it is unsure, or if the picture is hard to see, however sure it seems. Images that
    nothing is known of come late, then those that a person decided on before, unreadable ones last.
    """
    sure = np.where(_hard_to_see(table), np.fmin(sureness(table), HARDLY_SURE), sureness(table))
    unreadable = np.asarray([verdict == Verdict.UNREADABLE for verdict in table.verdict], dtype=bool)
    decided = np.asarray([bool(word) for word in table.decided], dtype=bool)
    group = 2 * unreadable + np.where(decided, 1, 0)
    order: list[int] = np.lexsort((np.arange(len(table)), np.nan_to_num(sure, nan=np.inf), group)).tolist()
    return order


def _hard_to_see(table: AuditTable) -> NDArray[np.bool_]:
    # The verdict on a picture that was seen in part is as good as others; it is what lies beside that is not judged.
    doubts, hard = (Verdict.FOREIGN, Verdict.MISLABELLED), HARD_TO_SEE - {SEEN_IN_PART}
    pairs = zip(table.verdict, table.quality, strict=True)
    return np.asarray([verdict in doubts and not hard.isdisjoint(odd) for verdict, odd in pairs], dtype=bool)


def table_key(table: AuditTable) -> str:
    """Return a short hash that changes with the images, their labels or what is said about them."""
    digest = hashlib.sha256()
    before = (table.decided,) if any(table.decided) else ()
    for column in (table.id, table.label, table.verdict, table.suggested_label, *before):
        digest.update(json.dumps(column).encode())
    return digest.hexdigest()[:20]


class _References:
    """Row numbers of ids."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.strangers: list[str] = []
        self._rows = {name: row for row, name in reversed(list(enumerate(ids)))}
        self._count = len(ids)

    def place(self, name: str) -> int:
        if not name:
            return -1
        if name not in self._rows:
            self._rows[name] = self._count + len(self.strangers)
            self.strangers.append(name)
        return self._rows[name]


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
