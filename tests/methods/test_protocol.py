"""What every method owes to the training loop."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from pathlib import Path

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_trainer

from lond.methods import METHODS, Method
from lond.train.checkpoint import load_state, same_state, save_state
from lond.train.schedule import OptimiserSettings
from lond.types import Clock

NAMES = sorted(METHODS)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_frozen_dataclasses_with_defaults(name: str) -> None:
    method_class, settings_class = METHODS[name]
    assert issubclass(method_class, Method)
    assert is_dataclass(settings_class)
    assert settings_class() == settings_class()
    assert hash(settings_class()) is not None
    assert method_class.__doc__
    assert settings_class.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_one_batch(name: str) -> None:
    samples = tiny_samples(24)
    method = tiny_method(samples, name)
    survey = survey_of(method, samples)
    for epoch in (0, 1):
        phases = method.before_epoch(epoch, survey)
        assert phases
        method.train()
        for phase in phases:
            batches = first_batches(samples, phase, 8)
            terms = method.step(phase.name, batches, Clock(epoch), torch.Generator().manual_seed(0))
            assert terms
            for term in terms.values():
                assert term.values.dim() == 1
                assert len(term.values)
                assert term.values.dtype == torch.float32
                assert term.values.isfinite().all()
            again = method.step(phase.name, batches, Clock(epoch), torch.Generator().manual_seed(0))
            assert all(torch.allclose(terms[key].values, again[key].values, atol=1e-5) for key in terms)


@pytest.mark.parametrize("name", NAMES)
def test_two_epochs_and_predictions(name: str) -> None:
    samples = tiny_samples(40)
    trainer = tiny_trainer(samples, name, test=tiny_samples(20, seed=1))
    history = trainer.run().history
    assert len(history) == 2
    assert all(math.isfinite(record["loss"]) for record in history)
    out = trainer.predict(samples)
    assert out.probabilities.shape == out.logits.shape == (40, 3)
    assert out.scores.shape == (40,)
    assert out.features.shape[0] == 40
    assert torch.allclose(out.probabilities.sum(dim=1), torch.ones(40), atol=1e-5)
    assert all(part.isfinite().all() for part in (out.probabilities, out.scores, out.features, out.logits))
    # Predicting changes nothing.
    assert same_state(vars(out), vars(trainer.predict(samples)))


@pytest.mark.parametrize("name", NAMES)
def test_state_round_trip(name: str, tmp_path: Path) -> None:
    samples = tiny_samples(40)
    trainer = tiny_trainer(samples, name)
    trainer.run()
    method = trainer.method
    save_state(tmp_path / "s", {"method": method.state_dict(), "extra": method.extra_state()})
    state = load_state(tmp_path / "s")
    fresh = tiny_trainer(samples, name, seed=9)
    fresh.method.load_state_dict(state["method"])
    fresh.method.load_extra_state(state["extra"])
    assert same_state(fresh.method.state_dict(), method.state_dict())
    assert same_state(fresh.method.extra_state(), method.extra_state())
    assert same_state(vars(fresh.predict(samples)), vars(trainer.predict(samples)))


@pytest.mark.parametrize("name", NAMES)
def test_it_learns(name: str) -> None:
    samples = tiny_samples(60)
    optimiser = OptimiserSettings(learning_rate=0.05, constant_epochs=99)
    trainer = tiny_trainer(samples, name, optimiser=optimiser, test=samples, epochs=8, evaluate_every=9)
    history = trainer.run().history
    last = history[-1]
    first = next(record for record in history if record["phase"] == last["phase"])
    assert last["loss"] < first["loss"]
    assert last["accuracy"] > 0.8
