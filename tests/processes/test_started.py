"""Which process is the first, and how many there are, from what other programs set."""

from __future__ import annotations

import pytest

from lond.processes.started import Started, is_first_process, is_started_by_first, started_outside

TORCHRUN = {"TORCHELASTIC_RUN_ID": "x", "LOCAL_WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "2", "WORLD_SIZE": "8"}
SRUN = {"SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "4", "SLURM_NNODES": "2", "SLURM_JOB_NAME": "train"}


@pytest.mark.parametrize(
    ("environment", "first", "started", "child"),
    [
        ({}, True, None, False),
        ({"RANK": "0", "LOCAL_RANK": "0"}, True, None, False),
        ({"RANK": "3", "LOCAL_RANK": "0"}, False, None, False),
        ({"LOCAL_RANK": "1"}, False, None, True),
        ({"LOCAL_RANK": "0", "NODE_RANK": "1"}, False, None, False),
        ({**TORCHRUN, "RANK": "0", "LOCAL_RANK": "0"}, True, Started(0, 4, 2), False),
        ({**TORCHRUN, "RANK": "4", "LOCAL_RANK": "0"}, False, Started(4, 4, 2), False),
        ({**TORCHRUN, "RANK": "1", "LOCAL_RANK": "1"}, False, Started(1, 4, 2), False),
        ({**SRUN, "SLURM_PROCID": "0"}, True, Started(0, 4, 2), False),
        ({**SRUN, "SLURM_PROCID": "5"}, False, Started(5, 4, 2), False),
        ({**SRUN, "SLURM_JOB_NAME": "bash"}, True, None, False),
        ({"SLURM_NTASKS": "1"}, True, Started(0, 1, 1), False),
    ],
)
def test_who_this_process_is(
    environment: dict[str, str],
    first: bool,
    started: Started | None,
    child: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in {*TORCHRUN, *SRUN, "RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"}:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_first_process() is first
    assert started_outside() == started
    assert is_started_by_first() is child
