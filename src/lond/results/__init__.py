"""Results store: one small JSON file per finished run, to filter, group, compare and print.

Reading loads no network; ``record_of`` and what else needs configurations is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.lazy import lazy_names
from lond.results.choose import find, select
from lond.results.differences import Difference, differences
from lond.results.groups import Group, Summary, group
from lond.results.records import SCHEMA, DataPart, DetectorRecord, Machine, Record, Scale, Seeds
from lond.results.rows import curve_rows, detector_rows, to_rows
from lond.results.store import Unusable, Written, read, scan, write

if TYPE_CHECKING:
    from lond.results.gather import record_of
    from lond.results.identity import variant_of

__all__ = [
    "SCHEMA",
    "DataPart",
    "DetectorRecord",
    "Difference",
    "Group",
    "Machine",
    "Record",
    "Scale",
    "Seeds",
    "Summary",
    "Unusable",
    "Written",
    "curve_rows",
    "detector_rows",
    "differences",
    "find",
    "group",
    "read",
    "record_of",
    "scan",
    "select",
    "to_rows",
    "variant_of",
    "write",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
