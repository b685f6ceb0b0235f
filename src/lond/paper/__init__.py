"""The paper as data: the values of its tables and figures, and the runs that reproduce them.

Importing it loads no network; ``lond.paper.reproduce.configs`` turns cells into configurations.
"""

from lond.paper.experiments import APPENDIX, EXPERIMENTS, all_cells, experiment
from lond.paper.figures import PANELS, SWEEPS, Panel, Sweep, panels
from lond.paper.names import DATA_SETS, DETECTOR_NAMES, METHOD_NAMES, NOISE_NAMES, TASKS, VENUES, PaperTask
from lond.paper.published import PUBLISHED, published_of, table
from lond.paper.records import MEAN, Cell, DataSet, Experiment, Published

__all__ = [
    "APPENDIX",
    "DATA_SETS",
    "DETECTOR_NAMES",
    "EXPERIMENTS",
    "MEAN",
    "METHOD_NAMES",
    "NOISE_NAMES",
    "PANELS",
    "PUBLISHED",
    "SWEEPS",
    "TASKS",
    "VENUES",
    "Cell",
    "DataSet",
    "Experiment",
    "Panel",
    "PaperTask",
    "Published",
    "Sweep",
    "all_cells",
    "experiment",
    "panels",
    "published_of",
    "table",
]
