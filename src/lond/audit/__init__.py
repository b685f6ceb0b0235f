"""Audit of an unreliable image set: a table and a review page for every image, and the corrected set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.lazy import lazy_names

if TYPE_CHECKING:
    from lond.audit.correct.apply import plan_corrections, read_decisions, write_corrected_csv, write_link_tree
    from lond.audit.figures.images import plot_confusions, plot_map, plot_margins, plot_rates, plot_scores
    from lond.audit.result import Audit
    from lond.audit.run import audit
    from lond.audit.settings import AuditSettings
    from lond.audit.table import AuditTable, read_audit
    from lond.frozen.extractor import ExtractorSettings

__all__ = [
    "Audit",
    "AuditSettings",
    "AuditTable",
    "ExtractorSettings",
    "audit",
    "plan_corrections",
    "plot_confusions",
    "plot_map",
    "plot_margins",
    "plot_rates",
    "plot_scores",
    "read_audit",
    "read_decisions",
    "write_corrected_csv",
    "write_link_tree",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
