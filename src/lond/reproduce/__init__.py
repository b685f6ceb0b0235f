"""Tables and figures of the paper, run again on any scale and printed beside the published figures.

``planning`` says which runs are needed, ``running`` makes what is missing, ``lines`` gathers the figures, ``tables``
and ``drawing`` write them; ``page`` writes what a results store holds of them, for which no network is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.lazy import lazy_names

if TYPE_CHECKING:
    from lond.reproduce.filters import chosen_cells
    from lond.reproduce.lines import Line, lines_of
    from lond.reproduce.names import SCALES
    from lond.reproduce.planning import LeftOut, Plan, Run, plan_experiment
    from lond.reproduce.running import Outcome, carry_out
    from lond.reproduce.scales import scaled_config

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
    "SCALES": "lond.reproduce.names",
    "LeftOut": "lond.reproduce.planning",
    "Line": "lond.reproduce.lines",
    "Outcome": "lond.reproduce.running",
    "Plan": "lond.reproduce.planning",
    "Run": "lond.reproduce.planning",
    "carry_out": "lond.reproduce.running",
    "chosen_cells": "lond.reproduce.filters",
    "lines_of": "lond.reproduce.lines",
    "plan_experiment": "lond.reproduce.planning",
    "scaled_config": "lond.reproduce.scales",
}
"""Name -> module that is imported when the name is first used."""

__getattr__, __dir__ = lazy_names(__name__, _HOME, __all__)
