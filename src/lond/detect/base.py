"""Base class of all detectors: fit and score on evidence, the outputs of a frozen network.

A larger score means more foreign. ``fit_features`` and ``score_features`` need no network, only arrays; ``fit`` and
``score`` run the network first. Evidence is extracted once and shared by all detectors.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Self, cast, get_args

import torch
from torch import Tensor

from lond.detect.evidence import Evidence, joined
from lond.detect.network import AnyNetwork, Network, NoNetworkError, as_network
from lond.errors import DataError, LondError

FitsOn = Literal["nothing", "training", "clean", "held-out"]
"""What a detector is fitted on: nothing; the training samples, twice where there is a choice: on all of them, foreign
ones among them, and on those judged clean; the latter alone, in place of a clean validation set; or samples that the
network was not trained on, and those judged clean if none were held out."""

Need = Literal["maps", "embeddings", "class_scores"]
"""A part of the evidence that not every network gives."""


class NotFittedError(LondError):
    """A detector was used before it was fitted."""


class Detector(ABC):
    """Score images by the outputs of a frozen network; settings are constructor arguments, fitted values are ``state``.

    The network may be any classifier that is an ``nn.Module``; ``ModuleNetwork`` lists the requirements.

    Examples:
        >>> from lond.detect import KNN
        >>> from torch.nn import Flatten, Linear, ReLU, Sequential
        >>> model = Sequential(Flatten(), Linear(12, 8), ReLU(), Linear(8, 4))
        >>> loader = [(torch.rand(10, 3, 2, 2), torch.arange(10) % 4)]
        >>> KNN(model, k=3).fit(loader).score(torch.rand(5, 3, 2, 2)).shape
        torch.Size([5])

    The class attributes tell the rest of the package all it needs to know about a detector.
    """

    name: ClassVar[str] = ""
    """The name of a detector that is passed or registered as a class, if not that of the class."""
    state_names: ClassVar[tuple[str, ...]] = ()
    """What a fit leaves in ``state``."""
    fits_on: ClassVar[FitsOn] = "nothing"
    """What it is fitted on; a detector that defines ``fit_features`` must say so."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """What scores need that not every network gives; of these, maps are not there for a fit."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check that a new detector class declares what it is fitted on, and that its needs exist."""
        super().__init_subclass__(**kwargs)
        if cls.fits_on not in get_args(FitsOn):
            raise TypeError(f"{cls.__name__}.fits_on is {cls.fits_on!r}; choose one of: {', '.join(get_args(FitsOn))}")
        fits = cls.fit_features is not Detector.fit_features
        if fits and cls.fits_on == "nothing":
            raise TypeError(f"{cls.__name__} has a fit_features: set its attribute fits_on, e.g. to 'training'")
        if not fits and cls.fits_on != "nothing":
            raise TypeError(f"{cls.__name__} is to be fitted on {cls.fits_on!r} but has no fit_features")
        unknown = set(cls.needs) - set(get_args(Need))
        if isinstance(cls.needs, str) or unknown:
            raise TypeError(f"{cls.__name__}.needs is {cls.needs!r}; choose from: {', '.join(get_args(Need))}")

    def __init__(self, network: AnyNetwork | None = None) -> None:
        """Store the network; detectors that use only features or logits need none."""
        self._network = as_network(network)
        self.state: dict[str, Tensor] = {}

    @property
    def network(self) -> Network:
        """The network.

        Raises:
            NoNetworkError: there is none.
        """
        if self._network is None:
            raise NoNetworkError(f"{type(self).__name__} needs a network here: pass network= to its constructor")
        return self._network

    @torch.no_grad()
    def fit(self, batches: Iterable[tuple[Tensor, Tensor]]) -> Self:
        """Fit on batches of normalised images and given labels; detectors that need no fitting do not read them."""
        if self.fits_on == "nothing":
            return self
        return self.fit_features(joined([(self.network.evidence(images), labels) for images, labels in batches]))

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit on evidence; does nothing unless a detector overrides it.

        Raises:
            DataError: no row is left to fit on, or a value is not finite.
        """
        return self

    @torch.no_grad()
    def score(self, images: Tensor | Iterable[Tensor | Sequence[Tensor]]) -> Tensor:
        """Return the foreign scores ``(N,)`` of normalised images, or of a loader's batches, with or without labels.

        Raises:
            DataError: the loader is empty.
        """
        if hasattr(images, "shape"):
            return self.score_features(self.network.evidence(cast(Tensor, images), maps="maps" in self.needs))
        scores = [self.score(batch if hasattr(batch, "shape") else batch[0]) for batch in images]
        if not scores:
            raise DataError("there are no batches to score")
        return torch.cat(scores)

    @abstractmethod
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the foreign scores ``(N,)`` of evidence, in float32 or float64.

        Raises:
            NotFittedError: the detector needs fitting and is not fitted.
        """

    def load_state(self, state: dict[str, Tensor]) -> Self:
        """Restore the fitted ``state``; settings are passed to the constructor.

        Raises:
            DataError: the tensors belong to another detector.
        """
        if set(state) != set(self.state_names):
            raise DataError(f"{type(self).__name__} is restored from {sorted(self.state_names)}, not {sorted(state)}")
        self.state = dict(state)
        return self

    def fitted(self, name: str) -> Tensor:
        """Return a fitted tensor.

        Raises:
            NotFittedError: there is none.
        """
        if name not in self.state:
            raise NotFittedError(f"{type(self).__name__} must be fitted before it can score")
        return self.state[name]


def wrong_with_detector(detector: object) -> str:
    """Return the reason why an object cannot be used as a detector; empty if it can."""
    if not (isinstance(detector, type) and issubclass(detector, Detector)):
        return "it is no subclass of lond.detect.Detector"
    if inspect.isabstract(detector):
        return f"it does not define {', '.join(sorted(detector.__abstractmethods__))}"
    return ""
