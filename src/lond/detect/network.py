"""Networks for detectors: the interface, and an adapter for any ``nn.Module``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from lond.detect.evidence import Evidence
from lond.errors import ConfigError, LondError


class NoNetworkError(LondError):
    """A detector needs a network, for images or for one of its layers, but has none."""


class Network(Protocol):
    """Frozen classifier that provides logits, features and feature maps to detectors.

    Examples:
        >>> from lond.detect import KNN
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))
        >>> network: Network = ModuleNetwork(model)
        >>> detector = KNN(network, k=2).fit([(torch.rand(9, 3, 2, 2), torch.arange(9) % 4)])
        >>> detector.score(torch.rand(5, 3, 2, 2)).shape
        torch.Size([5])
    """

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return features and logits of normalised images ``(B, C, H, W)``, and feature maps if requested."""

    def head(self, features: Tensor) -> Tensor:
        """Map features ``(B, D)`` to logits ``(B, C)``."""

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Return the logits ``(B, C)`` computed from the maps of the last block (0) or the one before it (1)."""


AnyNetwork = Network | nn.Module
"""What a detector takes as its network; a module is wrapped in a ``ModuleNetwork``."""


class ModuleNetwork:
    """Adapter that lets detectors use any PyTorch, timm or torchvision classifier.

    The features are the input of its last linear layer, whose output must be what the module returns. The module runs
    in evaluation mode, on its own device; its mode is restored afterwards. It provides no feature maps.

    Examples:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))
        >>> network = ModuleNetwork(model)
        >>> evidence = network.evidence(torch.rand(5, 3, 2, 2))
        >>> evidence.features.shape, evidence.logits.shape
        (torch.Size([5, 8]), torch.Size([5, 4]))
    """

    def __init__(self, module: nn.Module, last: str = "") -> None:
        """Store the module and the name of its last linear layer, which is found automatically if not given.

        Raises:
            ConfigError: there is no linear layer of that name, or none at all.
        """
        self.module = module
        self._linear = {name: layer for name, layer in module.named_modules() if isinstance(layer, nn.Linear)}
        if last and last not in self._linear:
            raise ConfigError(f"{_name(module)} has no linear layer {last!r}; it has: {', '.join(self._linear) or '-'}")
        if not self._linear:
            raise ConfigError(
                f"{_name(module)} has no linear layer, and detectors start from the input of the last one: pass an "
                "object with the methods of lond.detect.Network, or use fit_features and score_features"
            )
        self._last = last

    @property
    def last(self) -> nn.Linear:
        """The last linear layer.

        Raises:
            ConfigError: it is not known yet, because no image was looked at, and there are several.
        """
        if not self._last and len(self._linear) > 1:
            raise ConfigError("which layer is the last is found with the first images: call evidence, fit or score")
        return self._linear[self._last] if self._last else next(iter(self._linear.values()))

    @torch.no_grad()
    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return features and logits of images as the module takes them.

        Raises:
            ConfigError: the module returns something other than the output of a linear layer.
            NoNetworkError: the maps are asked for.
        """
        if maps:
            raise NoNetworkError(f"{_name(self.module)} does not say what the maps of its last two blocks are")
        seen: dict[str, tuple[Tensor, Tensor]] = {}
        with _watched(self._linear, seen), _evaluating(self.module):
            logits = self.module(torch.as_tensor(images).to(self._device()))
        if not self._last:
            self._last = self._found(logits, seen)
        if self._last not in seen:
            raise ConfigError(f"{_name(self.module)} did not use its layer {self._last!r}")
        features, logits = seen[self._last]
        if features.ndim != 2:
            raise ConfigError(
                f"the last layer of {_name(self.module)} must get one vector per image, not {tuple(features.shape)}"
            )
        return Evidence(features.float(), logits.float())

    @torch.no_grad()
    def head(self, features: Tensor) -> Tensor:
        """Map features on any device to logits on the module's device."""
        logits: Tensor = self.last(features.to(self.last.weight))
        return logits.float()

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Raise NoNetworkError: the maps of a module are not known."""
        raise NoNetworkError(f"{_name(self.module)} does not say what follows its last two blocks")

    def _device(self) -> torch.device:
        return next(self.module.parameters()).device

    def _found(self, logits: Any, seen: dict[str, tuple[Tensor, Tensor]]) -> str:
        """Return the name of the layer whose output is the module's."""
        name = next((name for name, (_, output) in seen.items() if output is logits), None)
        if name is None:
            raise ConfigError(
                f"{_name(self.module)} does not return what its last linear layer gives: name that layer with "
                f"lond.detect.ModuleNetwork(module, last=NAME); it has: {', '.join(self._linear)}"
            )
        return name


def as_network(network: AnyNetwork | None) -> Network | None:
    """Return a module without a method ``evidence`` wrapped, and anything else as it is."""
    if isinstance(network, nn.Module) and not hasattr(network, "evidence"):
        return ModuleNetwork(network)
    return cast(Network | None, network)


def _name(thing: object) -> str:
    return type(thing).__name__


@contextmanager
def _watched(layers: dict[str, nn.Linear], seen: dict[str, tuple[Tensor, Tensor]]) -> Iterator[None]:
    """Write input and output of each layer into ``seen``."""

    def keep(name: str) -> Any:
        def hook(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            seen[name] = inputs[0], output

        return hook

    hooks = [layer.register_forward_hook(keep(name)) for name, layer in layers.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode, and every part back to its own mode afterwards."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
