"""Who has which rows, when work is divided, and what is told of a lost process. Real processes: tests/train."""

from __future__ import annotations

import pytest
import torch
from processes.threads import CPU, run_together

from lond.errors import LostProcessError
from lond.processes.group import ProcessGroup, current_group, together


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("total", [0, 1, 4, 7, 12])
def test_every_row_has_one_process_and_shares_are_even(processes: int, total: int) -> None:
    groups = [ProcessGroup(rank, processes, CPU) for rank in range(processes)]
    rows = [list(range(total)[group.rows(total)]) for group in groups]
    assert [row for part in rows for row in part] == list(range(total))
    assert groups[0].sizes(total) == [len(part) for part in rows]
    assert max(map(len, rows)) - min(map(len, rows)) <= 1


def test_work_is_divided_within_the_context_only() -> None:
    group = ProcessGroup(1, 2, CPU)
    assert current_group() is None
    with together(group):
        assert current_group() is group
        with together(None):
            assert current_group() is None
        assert current_group() is group
    assert current_group() is None
    with together(ProcessGroup(0, 1, CPU)):
        assert current_group() is None


def test_threads_of_one_process_do_not_know_each_others_group() -> None:
    with together(ProcessGroup(0, 2, CPU)):
        assert all(
            found is not None and found.processes == 3 for found in run_together(3, lambda _rank: current_group())
        )


def test_what_a_backend_says_becomes_one_line_that_tells_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(
            "[/far/away/pair.cc:553] Connection closed by peer [127.0.0.1]:1. Typically\ncaused by advice"
        )

    for name in ("all_reduce", "all_gather", "all_gather_object"):
        monkeypatch.setattr(torch.distributed, name, fail)
    group = ProcessGroup(0, 2, CPU)
    for ask in (
        lambda: group.sum(torch.ones(1)),
        lambda: group.gather(torch.ones(1), 2),
        lambda: group.gather_objects(1),
    ):
        with pytest.raises(LostProcessError) as caught:
            ask()
        line = str(caught.value)
        assert "\n" not in line
        assert "process 1 of 2" in line
        assert "(Connection closed by peer [127.0.0.1]:1)" in line
        assert "Start the same command again" in line
