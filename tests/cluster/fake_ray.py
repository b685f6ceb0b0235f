"""A Ray that does everything in this process, in order, and loses workers on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(f"a long trace\nof {cause}")
        self.cause = cause


class NodeDiedError(RayError):
    pass


class RuntimeEnvSetupError(RayError):
    pass


class FakeRay:
    """As much of Ray as ``lond.cluster.tasks`` uses.

    Attributes:
        losing: item -> how often its worker is lost before it comes to an end.
        calls: every item and attempt that was handed out, and what it was handed out with.
    """

    def __init__(self, nodes: list[dict[str, float]] | None = None) -> None:
        self.exceptions = SimpleNamespace(
            RayError=RayError, RayTaskError=RayTaskError, NodeDiedError=NodeDiedError,
            RuntimeEnvSetupError=RuntimeEnvSetupError,
        )  # fmt: skip
        self.cloudpickle = SimpleNamespace(dumps=lambda content: content)
        self.machines = [{"CPU": 2.0}] if nodes is None else nodes
        self.losing: Counter[Any] = Counter()
        self.after_loss: Callable[[Any], None] = lambda item: None
        self.calls: list[tuple[Any, int]] = []
        self.options: dict[str, Any] = {}
        self.most_at_once = 0
        self.cancelled: list[int] = []
        self.open: dict[int, Any] = {}
        self.patience = 0

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": has} for has in self.machines] + [
            {"Alive": False, "Resources": {"CPU": 9}}
        ]

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        self.options = options

        def start(packed: Any, asker: Any, shared: Any) -> int:
            function, (item, attempt) = packed
            self.calls.append((item, attempt))
            number = len(self.calls)
            self.open[number] = (function, item, attempt, shared)
            self.most_at_once = max(self.most_at_once, len(self.open))
            return number

        return lambda carried: SimpleNamespace(remote=start)

    def put(self, value: Any) -> Any:
        return value

    def wait(self, references: list[int], num_returns: int = 1, timeout: float = 0) -> tuple[list[int], list[int]]:
        if self.patience:
            self.patience -= 1
            return [], references
        return references[:num_returns], references[num_returns:]

    def get(self, reference: int) -> Any:
        function, item, attempt, shared = self.open.pop(reference)
        if self.losing[item] > 0:
            self.losing[item] -= 1
            self.after_loss(item)
            raise NodeDiedError
        try:
            return function(item, attempt, *shared)
        except RayError:
            raise
        except Exception as error:
            raise RayTaskError(error) from error

    def cancel(self, reference: int, *, force: bool) -> None:
        assert force
        self.cancelled.append(reference)
