"""Tables and figures of the paper, run again on any scale and printed beside the published figures.

``planning`` says which runs are needed, ``running`` makes what is missing, ``lines`` gathers the figures, ``tables``
and ``drawing`` write them.
"""

from lond.reproduce.filters import chosen_cells
from lond.reproduce.lines import Line, lines_of
from lond.reproduce.planning import LeftOut, Plan, Run, plan_experiment
from lond.reproduce.running import Outcome, carry_out
from lond.reproduce.scales import SCALES, scaled_config

__all__ = [
    "SCALES",
    "LeftOut",
    "Line",
    "Outcome",
    "Plan",
    "Run",
    "carry_out",
    "chosen_cells",
    "lines_of",
    "plan_experiment",
    "scaled_config",
]
