"""Tables and figures of the paper, run again on any scale and printed beside the published figures.

``planning`` says which runs are needed, ``running`` makes what is missing, ``lines`` gathers the figures, ``tables``
and ``drawing`` write them; ``page`` writes what a results store holds of them, for which no network is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.lazy import lazy_names

if TYPE_CHECKING:
    from lond.paper.reproduce.configs import scaled_config
    from lond.paper.reproduce.filters import chosen_cells
    from lond.paper.reproduce.lines import Line, lines_of
    from lond.paper.reproduce.names import SCALES
    from lond.paper.reproduce.planning import LeftOut, Plan, Run, plan_experiment
    from lond.paper.reproduce.running import Outcome, carry_out

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

_HOME = {
    "SCALES": "lond.paper.reproduce.names",
    "LeftOut": "lond.paper.reproduce.planning",
    "Line": "lond.paper.reproduce.lines",
    "Outcome": "lond.paper.reproduce.running",
    "Plan": "lond.paper.reproduce.planning",
    "Run": "lond.paper.reproduce.planning",
    "carry_out": "lond.paper.reproduce.running",
    "chosen_cells": "lond.paper.reproduce.filters",
    "lines_of": "lond.paper.reproduce.lines",
    "plan_experiment": "lond.paper.reproduce.planning",
    "scaled_config": "lond.paper.reproduce.configs",
}
"""Name -> module that is imported when the name is first used."""

__getattr__, __dir__ = lazy_names(__name__, _HOME, __all__)
