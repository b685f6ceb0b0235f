"""Small frozen types shared by the whole package, and its label convention.

One convention holds everywhere: **a larger score means more foreign**, and the label of an image that
belongs to none of the known classes is ``FOREIGN`` (-1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Protocol, Self

import torch
from torch import Tensor

FOREIGN = -1
"""Label of an image that belongs to no known class."""

UNLABELLED = -2
"""Label of an image whose label is missing."""

Epochs = Annotated[int, "epochs"]
"""Type of a method's setting that counts epochs: in a run of another length it keeps its share."""

FirstEpochs = Annotated[int, "first epochs"]
"""The same, but a published run that is shortened keeps its number, up to the warm-up of the shorter run."""

Memory = Annotated[float, "memory"]
"""Type of a setting that says how much is kept from one epoch to the next: a shorter run forgets faster."""


class Verdict(StrEnum):
    """Verdict on one image of a labelled set.

    Examples:
        >>> Verdict("foreign") is Verdict.FOREIGN, Verdict.FOREIGN == "foreign"
        (True, True)
    """

    CLEAN = "clean"
    MISLABELLED = "mislabelled"
    FOREIGN = "foreign"
    UNREADABLE = "unreadable"
    UNLABELLED = "unlabelled"
    DUPLICATE_CONFLICT = "duplicate conflict"


@dataclass(frozen=True)
class Request:
    """One batch asked of a pixel source: which images, and where each view is cut out.

    ``indices`` is ``(B,)`` int64. ``crops`` is ``(V, B, 2)`` in [0, 1] (vertical, horizontal position of
    the cut-out; 0.5 is the centre) or None for the centre.
    """

    indices: Tensor
    crops: Tensor | None = None


class Pixels(Protocol):
    """Random access to images as uint8 tensors, channel first, all of one size."""

    @property
    def channels(self) -> int:
        """Number of colour channels."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of every image that ``stream`` yields."""

    @property
    def crops_on_read(self) -> bool:
        """True if ``stream`` cuts the asked positions out of a larger image."""

    def __len__(self) -> int:
        """Return the number of images."""

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield ``(V, B, C, H, W)`` uint8 for each request, in order; V is 1 unless several crops are cut."""

    def fingerprint(self) -> str:
        """Return a short hash that changes when the images change."""


@dataclass(frozen=True)
class Problem:
    """A row that could not be used, and why."""

    id: str
    reason: str


def told_problems(problems: Sequence[Problem], most: int) -> str:
    """Return ids and reasons in one line, at most so many of them.

    Examples:
        >>> told_problems([Problem("a.png", "empty file"), Problem("b.png", "no such file")], most=1)
        'a.png (empty file); and 1 more'
    """
    few = "; ".join(f"{problem.id} ({problem.reason})" for problem in problems[:most])
    return few + (f"; and {len(problems) - most} more" if len(problems) > most else "")


@dataclass(frozen=True)
class Samples:
    """A labelled image set: N images with ids, given labels and, where known, true labels.

    ``labels`` is ``(N,)`` int64 in ``0..C-1``, ``UNLABELLED`` or (in a test set) ``FOREIGN``.
    ``true_labels`` has the same shape; ``FOREIGN`` marks images of no known class.
    ``confirmed`` ``(N,)`` bool marks given labels that a person gave or confirmed; None if there are none.
    """

    pixels: Pixels
    labels: Tensor
    class_names: tuple[str, ...]
    ids: tuple[str, ...]
    true_labels: Tensor | None = None
    origin: str = "memory"
    problems: tuple[Problem, ...] = ()
    confirmed: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that all parts have the same length."""
        lengths = {len(self.pixels), len(self.labels), len(self.ids)}
        lengths |= {len(part) for part in (self.true_labels, self.confirmed) if part is not None}
        if len(lengths) != 1:
            raise ValueError(f"pixels, labels, ids, true and confirmed labels differ in length: {sorted(lengths)}")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    @property
    def num_classes(self) -> int:
        """Number of known classes."""
        return len(self.class_names)

    def with_labels(self, labels: Tensor, true_labels: Tensor | None) -> Self:
        """Return the same images under other labels."""
        return replace(self, labels=labels, true_labels=true_labels)


@dataclass(frozen=True)
class Stream:
    """Samples that batches are drawn from in random order, and the views ("weak", "strong", "test") to make of each.

    A batch holds ``share`` times the run's batch size.
    """

    indices: Tensor
    views: tuple[str, ...] = ("weak", "strong")
    share: float = 1.0


@dataclass(frozen=True)
class Phase:
    """A stretch of an epoch: ``lead / (share * batch size)`` steps, each with one batch of every stream.

    A stream of ``lead`` samples is walked through once (its last batch may be short); a smaller one, or one of larger
    batches than ``share`` says, is repeated. While no label is judged yet, the name begins with "warm-up".
    """

    name: str
    streams: dict[str, Stream]
    lead: int
    share: float = 1.0
    steps: int = 0
    """A fixed number of steps instead, for which every stream is repeated as often as need be; 0 = as above."""

    @property
    def is_warmup(self) -> bool:
        """True if no label is judged yet."""
        return self.name.startswith("warm-up")


@dataclass(frozen=True)
class Clock:
    """Where training stands: ``time`` counts epochs, with the fraction of the running one."""

    epoch: int
    step: int = 0
    steps: int = 1

    @property
    def time(self) -> float:
        """Epochs gone, as a real number."""
        return self.epoch + self.step / self.steps


@dataclass(frozen=True)
class Batch:
    """One batch on the model's device: ``indices`` and ``labels`` are ``(B,)``; each view is ``(B, C, H, W)``."""

    indices: Tensor
    labels: Tensor
    views: tuple[Tensor, ...]


@dataclass(frozen=True)
class Term:
    """One part of a loss: one value per sample ``(M,)``, and the weight of its mean in the sum."""

    values: Tensor
    weight: float = 1.0


@dataclass(frozen=True)
class Partition:
    """Partition of N training samples into clean, closed-set and open-set; all tensors are ``(N,)``.

    Exactly one of ``clean``, ``closed`` and ``open`` is True for each sample. ``weights`` says how far its label to
    train on, ``corrected`` (the given one where it is trusted), is believed: Eq. 12 for LOND-DRS. The margins are those
    of LOND-DRS, None for other methods.

    Examples:
        >>> clean = torch.tensor([True, False])
        >>> Partition(clean, ~clean, clean & False, torch.tensor([1.0, 0.4]), torch.tensor([3, 7])).names()
        ['clean', 'closed']
    """

    clean: Tensor
    closed: Tensor
    open: Tensor
    weights: Tensor
    corrected: Tensor
    neighbour_margin: Tensor | None = None
    negative_margin: Tensor | None = None

    def names(self) -> list[str]:
        """Return "clean", "closed" or "open" for every sample, in order."""
        codes = self.closed.long() + 2 * self.open.long()
        return [("clean", "closed", "open")[code] for code in codes.tolist()]

    def state_dict(self) -> dict[str, Tensor]:
        """Return the tensors by name."""
        tensors = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    @classmethod
    def from_state_dict(cls, state: dict[str, Tensor]) -> Self:
        """Rebuild what ``state_dict`` gave."""
        return cls(**state)

    def to(self, device: torch.device | str) -> Self:
        """Return a copy on another device."""
        return type(self)(**{name: value.to(device) for name, value in self.state_dict().items()})


@dataclass(frozen=True)
class Prediction:
    """What a trained method says about B images.

    ``probabilities`` is ``(B, C)`` and sums to one; ``scores`` is ``(B,)``, larger = more foreign;
    ``features`` is ``(B, D)``, ``logits`` ``(B, C)``.
    """

    probabilities: Tensor
    scores: Tensor
    features: Tensor
    logits: Tensor
