"""Who started the processes of a run: ``torchrun``, SLURM's ``srun``, or the first process itself."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Started:
    """This process as another program started it: one of ``devices`` on each of ``nodes`` machines."""

    rank: int
    devices: int
    nodes: int


def started_outside() -> Started | None:
    """Return how ``torchrun`` or ``srun`` started this process; None if neither did."""
    found = os.environ
    if "TORCHELASTIC_RUN_ID" in found:
        names = ("RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE")
    # As Lightning Fabric tells it: in an interactive job processes are started by hand.
    elif "SLURM_NTASKS" in found and found.get("SLURM_JOB_NAME") not in ("bash", "interactive"):
        names = ("SLURM_PROCID", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES")
    else:
        return None
    rank, devices, nodes = (found.get(name, default) for name, default in zip(names, "011", strict=True))
    return Started(int(rank), int(devices), int(nodes))


def is_first_process() -> bool:
    """Tell, also before the processes know one another, whether this is the first one of a distributed run.

    Fabric's own launcher sets the rank on the machine and, if told, the machine's.
    """
    started = started_outside()
    if started is not None:
        return started.rank == 0
    if "RANK" in os.environ:
        return os.environ["RANK"] == "0"
    return all(os.environ.get(name, "0") == "0" for name in ("LOCAL_RANK", "NODE_RANK"))


def is_started_by_first() -> bool:
    """Tell whether the first process on this machine started this one, and tells what there is to tell."""
    return started_outside() is None and os.environ.get("LOCAL_RANK", "0") != "0"
