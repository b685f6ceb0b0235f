"""What a person gets: a table and a page about every image of a doubtful set, and the corrected set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.lazy import lazy_names

if TYPE_CHECKING:
    from lond.audit.correct.apply import plan_corrections, read_decisions, write_corrected_csv, write_link_tree
    from lond.audit.figures.images import plot_confusions, plot_map, plot_margins, plot_rates, plot_scores
    from lond.audit.result import Audit
    from lond.audit.run import AuditSettings, audit
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

_HOME = {
    "Audit": "lond.audit.result",
    "AuditSettings": "lond.audit.run",
    "AuditTable": "lond.audit.table",
    "ExtractorSettings": "lond.frozen.extractor",
    "audit": "lond.audit.run",
    "plan_corrections": "lond.audit.correct.apply",
    "plot_confusions": "lond.audit.figures.images",
    "plot_map": "lond.audit.figures.images",
    "plot_margins": "lond.audit.figures.images",
    "plot_rates": "lond.audit.figures.images",
    "plot_scores": "lond.audit.figures.images",
    "read_audit": "lond.audit.table",
    "read_decisions": "lond.audit.correct.apply",
    "write_corrected_csv": "lond.audit.correct.apply",
    "write_link_tree": "lond.audit.correct.apply",
}
"""Name -> module that is imported when the name is first used."""

__getattr__, __dir__ = lazy_names(__name__, _HOME, __all__)
