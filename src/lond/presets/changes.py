"""Single changes to a run's configuration: its length, seed, files, held-out samples and initial weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args, get_type_hints

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.types import Epochs, FirstEpochs, Memory


def declared(settings: Any, *kinds: Any) -> dict[str, Any]:
    """Return the values, by name, of the settings that are declared with one of these types and are not 0."""
    hints = get_type_hints(type(settings), include_extras=True)
    names = [name for name, hint in hints.items() if any(get_args(hint) == get_args(kind) for kind in kinds)]
    return {name: value for name in names if (value := getattr(settings, name))}


def with_epochs(config: RunConfig, epochs: int) -> RunConfig:
    """Return the run at another length: warm-up, ramps, memory and the plan of the rate keep their shares.

    Raises:
        ConfigError: there is no epoch left.
    """
    if epochs < 1:
        raise ConfigError(f"a run needs at least 1 epoch, not {epochs}")
    share = epochs / config.train.epochs
    settings = config.settings
    lengths = {name: max(1, round(share * value)) for name, value in declared(settings, Epochs, FirstEpochs).items()}
    memories = {name: value ** (1 / share) for name, value in declared(settings, Memory).items()}
    optimiser = replace(
        config.optimiser,
        constant_epochs=round(share * config.optimiser.constant_epochs),
        milestones=tuple(max(1, round(share * time)) for time in config.optimiser.milestones),
    )
    return replace(
        config,
        train=replace(config.train, epochs=epochs),
        settings=replace(settings, **lengths, **memories),
        optimiser=optimiser,
    )


def with_seed(config: RunConfig, seed: int) -> RunConfig:
    """Return the run with another seed of the training."""
    return replace(config, train=replace(config.train, seed=seed))


def with_root(config: RunConfig, root: str) -> RunConfig:
    """Return the configuration with a benchmark's files at another place; an empty text changes nothing."""
    if not root:
        return config
    return replace(config, data=replace(config.data, benchmark=replace(config.data.benchmark, root=root)))


def without_hold_out(config: RunConfig) -> RunConfig:
    """Return the run that learns from all samples it is given."""
    return replace(config, data=replace(config.data, hold_out=0.0))


def without_weights(config: RunConfig) -> RunConfig:
    """Return the run from random weights: nothing is downloaded or read to build its network."""
    return replace(config, net=replace(config.net, pretrained=False, checkpoint_path=None))
