"""What the training loop knows of a method."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from lond.detect import Network
from lond.types import Batch, Clock, Partition, Phase, Prediction, Term


@dataclass(frozen=True)
class Task:
    """Learning task: N given labels of C classes, and how to build a backbone with its feature size.

    ``confirmed`` ``(N,)`` bool marks labels that a person gave or confirmed, if there are any.

    Examples:
        >>> import torch
        >>> task = Task(torch.tensor([0, 1, 1]), 2, lambda: (nn.Flatten(), 64))
        >>> task.num_classes
        2
    """

    labels: Tensor
    num_classes: int
    build_backbone: Callable[[], tuple[nn.Module, int]]
    confirmed: Tensor | None = None


class Survey(Protocol):
    """Map every training sample, in order, through a function of its test view, in evaluation mode.

    Examples:
        >>> import torch
        >>> survey: Survey = lambda describe: describe(torch.arange(4.0))
        >>> survey(lambda batch: (batch.mean(),))
        (tensor(1.5000),)
    """

    def __call__(self, describe: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """Return the outputs of ``describe`` for all N samples, concatenated."""


@dataclass(frozen=True)
class Cost:
    """Cost of an epoch, in epochs of plain cross-entropy and in neighbour searches over all training samples.

    Examples:
        >>> Cost(warmup=2.0, later=6.5, searches=1.0).neighbours
        200
    """

    warmup: float = 1.0
    later: float = 1.0
    """After the warm-up."""
    searches: float = 0.0
    """In an epoch after the warm-up; each looks for the neighbours of every sample."""
    width: int = 128
    """Length of what is searched."""
    neighbours: int = 200


class Method(nn.Module, ABC):
    """Training method: the batches of an epoch, the loss of a step, and the prediction of the trained networks.

    The networks are submodules, so parameters, buffers and devices are handled as for any module. A method is built
    from its settings and a ``Task``. All that the rest of the package has to know about it stands in the attributes of
    its class below; only ``settings_class`` has to be set.

    Examples:
        >>> from lond.methods import METHODS
        >>> all(issubclass(method, Method) for method in METHODS.values())
        True
    """

    name: ClassVar[str] = ""
    """The name of a method that is passed or registered as a class, if not that of the class."""
    settings_class: ClassVar[type[Any]]
    """The frozen dataclass of its settings, every one with a default. An int ``warmup_epochs`` counts the epochs before
    the first label is judged."""
    recipe: ClassVar[Callable[[Any], Any] | None] = None
    """Its published values, a static method from a ``lond.presets.recipes.Occasion`` to a ``Recipe``; None: the
    defaults of the settings, and everything else as the preset says."""
    cost: ClassVar[Cost | None] = None
    """What it costs, measured against plain cross-entropy; None: unknown, and estimates of the time say "at least"."""
    quick_on_features: ClassVar[bool] = False
    """Whether training on features of a frozen network takes seconds, so that a run may be trained several times."""
    uses_confirmed: ClassVar[bool] = False
    """Whether labels that a person confirmed (``Task.confirmed``) are taken as known; else they count as any other."""

    partition: Partition | None = None
    """The latest verdict on the training samples, if the method judges them."""

    @abstractmethod
    def before_epoch(self, epoch: int, survey: Survey) -> Iterable[Phase]:
        """Prepare an epoch and return its phases; a generator is resumed after each, so it may survey in between."""

    @abstractmethod
    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return the named terms of the loss of one step."""

    def after_step(self) -> None:
        """Do what follows an optimiser step, such as moving a mean teacher."""

    def after_epoch(self, epoch: int) -> None:
        """Do what follows an epoch, such as reading the table of what was seen of every sample."""

    @abstractmethod
    def predict(self, images: Tensor) -> Prediction:
        """Return class probabilities and foreign scores of normalised images ``(B, C, H, W)``."""

    @abstractmethod
    def network(self) -> Network:
        """Return the trained network, opened for post-hoc detectors."""

    def extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides parameters and buffers."""
        return {"partition": None if self.partition is None else self.partition.state_dict()}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        partition = state["partition"]
        self.partition = None if partition is None else Partition.from_state_dict(partition)


def wrong_with_method(method: object) -> str:
    """Return why something cannot be used as a method; empty if it can."""
    if not (isinstance(method, type) and issubclass(method, Method)):
        return "it is no subclass of lond.methods.Method"
    if inspect.isabstract(method):
        return f"it does not define {', '.join(sorted(method.__abstractmethods__))}"
    settings = getattr(method, "settings_class", None)
    if not (isinstance(settings, type) and is_dataclass(settings)) or settings.__hash__ is None:
        return "its attribute settings_class must be a frozen dataclass"
    try:
        settings()
    except TypeError:
        return f"every setting of {settings.__name__} needs a default"
    return ""
