"""Pieces of work on a Ray cluster: each ends once, whatever happens to the machine it is on."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Generic, TypeVar

from lond.cluster.remote import Asker, carry

ATTEMPTS = 4
"""How often a piece of work is handed out if its worker is lost: one that needs too much memory is lost each time."""

LOOK_EVERY = 30.0
"""Seconds after which it is looked whether any machine has room."""

CANCELLED_WITHIN = 15.0
"""Seconds in which cancelled work must end."""

LOST = ("NodeDiedError", "WorkerCrashedError", "OutOfMemoryError", "ObjectLostError", "RaySystemError")
"""Errors of Ray that say that a worker is gone, and nothing about its work."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Needs:
    """What a piece of work takes of a machine while it is done."""

    cpus: int = 1
    gpus: int = 0

    def __str__(self) -> str:
        """Return it in words."""
        names = [(self.cpus, "CPU"), *([(self.gpus, "GPU")] if self.gpus else [])]
        return " and ".join(f"{number} {name}{'' if number == 1 else 's'}" for number, name in names)


@dataclass(frozen=True)
class Answer:
    """What came of a piece of work: what its function returned, or why there is nothing."""

    value: Any = None
    problem: str = ""


@dataclass(frozen=True)
class HandedOut(Generic[Item]):
    """A piece of work that is handed out for the n-th time."""

    item: Item
    attempt: int = 1


@dataclass(frozen=True)
class RayCluster:
    """A cluster that this process is connected to; ``lond.cluster.session.connected`` gives one."""

    ray: Any

    def room(self, needs: Needs) -> int:
        """Return how many pieces of work fit on the living machines at once."""
        wanted = {"CPU": needs.cpus, "GPU": needs.gpus}
        machines = [node.get("Resources", {}) for node in self.ray.nodes() if node.get("Alive")]
        return sum(min(int(has.get(name, 0) // count) for name, count in wanted.items() if count) for has in machines)

    def needs(self, threads: int, accelerator: str) -> Needs:
        """Return what work takes: a CPU for each thread, and a GPU if asked for, or with "auto" if there is one."""
        cpus = max(1, threads)
        on_gpu = accelerator in ("gpu", "cuda") or (accelerator == "auto" and self.room(Needs(cpus, 1)) > 0)
        return Needs(cpus, 1 if on_gpu else 0)

    def run(
        self,
        function: Callable[..., Any],
        items: Sequence[Item],
        needs: Needs,
        *,
        at_once: int = 0,
        shared: Sequence[Any] = (),
        is_done: Callable[[Item], bool] = lambda item: False,
        tell: Callable[[str], None] = lambda text: None,
    ) -> Generator[tuple[Item, Answer]]:
        """Call ``function(item, attempt, *shared)`` for each item in a separate process, and yield the results.

        A problem of one does not stop the others. An item whose worker is lost is handed out again, unless it is done
        by then; the function must be able to go on. Whoever stops asking cancels the rest.

        Args:
            function: one that the other machines can import, or small enough to be sent.
            items: what it is called with, each sent with its own task.
            needs: what each call takes of a machine.
            at_once: the most items at a time; 0 leaves it to the cluster.
            shared: further arguments, sent to each machine once.
            is_done: tells whether the work on a lost item was finished before.
            tell: told of workers that are lost, and if there is no room.
        """
        waiting, running = deque(HandedOut(item) for item in items), dict[Any, HandedOut[Item]]()
        start = self._starter(function, needs, shared)
        without_room = False
        try:
            while waiting or running:
                while waiting and (not at_once or len(running) < at_once):
                    task = waiting.popleft()
                    running[start(task)] = task
                ready, _ = self.ray.wait(list(running), timeout=LOOK_EVERY)
                if not ready and not self.room(needs) and not without_room:
                    tell(f"no machine of the Ray cluster has {needs}; waiting until one has")
                    without_room = True
                for reference in ready:
                    task = running.pop(reference)
                    answer = self._answer(reference)
                    if answer is None and task.attempt < ATTEMPTS and not is_done(task.item):
                        tell(f"{_name(task.item)}: its machine or process was lost; it resumes elsewhere")
                        waiting.append(HandedOut(task.item, task.attempt + 1))
                    elif answer is None:
                        done = is_done(task.item)
                        yield task.item, Answer() if done else Answer(problem=_lost_each_time())
                    else:
                        yield task.item, answer
        finally:
            self._cancel(list(running))

    def _starter(
        self, function: Callable[..., Any], needs: Needs, shared: Sequence[Any]
    ) -> Callable[[HandedOut[Any]], Any]:
        asker = Asker(version("lond"), os.getcwd(), tuple(sys.path))
        # Handed out again by ``run``, which looks first whether it is done; each in a new process, as runs are here.
        options = {"num_cpus": needs.cpus, "num_gpus": needs.gpus, "max_retries": 0, "max_calls": 1}
        remote = self.ray.remote(**options, scheduling_strategy="SPREAD")(carry)
        kept = self.ray.put(tuple(shared)) if shared else ()

        def start(task: HandedOut[Any]) -> Any:
            packed = self.ray.cloudpickle.dumps((function, (task.item, task.attempt)))
            return remote.remote(packed, asker, kept)

        return start

    def _answer(self, reference: Any) -> Answer | None:
        """Return what came of a task; None if its worker was lost."""
        errors = self.ray.exceptions
        try:
            return Answer(self.ray.get(reference))
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            return Answer(problem=" ".join(str(cause).split()))
        except tuple(getattr(errors, name) for name in LOST if hasattr(errors, name)):
            return None
        except errors.RayError as error:
            return Answer(problem=f"{type(error).__name__}: {' '.join(str(error).split())}")

    def _cancel(self, references: list[Any]) -> None:
        """End what is still being done, and wait until it has ended."""
        for reference in references:
            self.ray.cancel(reference, force=True)
        if references:
            self.ray.wait(references, num_returns=len(references), timeout=CANCELLED_WITHIN)


def _name(item: Any) -> str:
    return item if isinstance(item, str) else str(getattr(item, "title", item))


def _lost_each_time() -> str:
    return f"its machine or process was lost {ATTEMPTS} times (out of memory?); start again with fewer jobs"
