"""Export of trained runs for other programs: one graph from pixels to verdicts, or named weights."""

from lond.export.graph import PredictionGraph
from lond.export.write import FORMATS, export_run

__all__ = ["FORMATS", "PredictionGraph", "export_run"]
