"""What every method owes to the training loop."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from methods.tiny import VIEWS, default_settings, first_batches, survey_of, tiny_method, tiny_samples, tiny_trainer

from lond.data.views import ViewMaker
from lond.methods import METHODS, Survey
from lond.methods.base import wrong_with_method
from lond.train.checkpoint import load_state, same_state, save_state
from lond.train.schedule import OptimiserSettings
from lond.types import UNLABELLED, Clock, Phase

NAMES = sorted(METHODS)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_frozen_dataclasses_with_defaults(name: str) -> None:
    method_class = METHODS[name]
    settings_class = method_class.settings_class
    assert wrong_with_method(method_class) == ""
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
        phases = []
        for phase in method.before_epoch(epoch, survey):
            phases.append(phase.name)
            method.train()
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
        assert len(set(phases)) == len(phases) > 0


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
def test_a_run_that_was_cut_ends_like_one_that_was_not(name: str, tmp_path: Path) -> None:
    samples, test = tiny_samples(40), tiny_samples(20, seed=1)
    whole = tiny_trainer(samples, name, test=test, epochs=4)
    whole.run()
    cut = tiny_trainer(samples, name, test=test, epochs=4, folder=tmp_path)
    go_on = cut.method.before_epoch

    def stop_at_two(epoch: int, survey: Survey) -> Iterable[Phase]:
        if epoch == 2:
            raise KeyboardInterrupt
        return go_on(epoch, survey)

    cut.method.before_epoch = stop_at_two  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    resumed = tiny_trainer(samples, name, test=test, epochs=4, folder=tmp_path)
    assert resumed.resume()
    resumed.run()
    states = [{**trainer.state(), "history": []} for trainer in (whole, resumed)]
    assert same_state(*states)
    without_times = [[{**record, "seconds": 0} for record in trainer.history] for trainer in (whole, resumed)]
    assert str(without_times[0]) == str(without_times[1])


@pytest.mark.parametrize("name", NAMES)
def test_unlabelled_images_do_no_harm(name: str) -> None:
    labels = (torch.arange(40) % 3).index_fill(0, torch.tensor([0, 7]), UNLABELLED)
    trainer = tiny_trainer(tiny_samples(40, labels=labels, truth=False), name, epochs=3)
    assert all(math.isfinite(record["loss"]) for record in trainer.run().history)


@pytest.mark.parametrize("name", NAMES)
def test_detectors_can_open_its_network(name: str) -> None:
    samples = tiny_samples(24)
    method = tiny_method(samples, name).eval()
    images = ViewMaker(VIEWS, 1).test(samples.pixels.images)
    with torch.no_grad():
        network = method.network()
        evidence = network.evidence(images, maps=True)
        assert evidence.features is not None and evidence.logits is not None and evidence.maps is not None
        assert torch.allclose(network.head(evidence.features), evidence.logits, atol=1e-5)
        for block, maps in enumerate(reversed(evidence.maps)):
            assert torch.allclose(network.finish(block, maps), evidence.logits, atol=1e-4)


OWN_OPTIMISER = {
    # Six passes a step, two of them on rotated images: at larger rates the running statistics of so few steps lag.
    "cir-plus": OptimiserSettings(learning_rate=0.01, constant_epochs=99),
    # It learns from the one or two samples of a batch that are disputed: large steps of SGD throw it back.
    "co-teaching-plus": OptimiserSettings("adam", learning_rate=1e-3, weight_decay=0.0, constant_epochs=99),
}
"""The published kind of optimiser, for methods that need it."""


OWN_SETTINGS = {
    "npn-soft": {"warmup_epochs": 2, "ramp_epochs": 6},
    # Its first targets come from running statistics, which lag behind after one epoch of so few steps.
    "lond-drs-fast": {"warmup_epochs": 3},
}
"""What the recipe of a method changes in short runs."""

STEADY = {"npn-soft": "loss_partial_label"}
"""The term to look at where the weight of another one rises."""


@pytest.mark.parametrize("name", NAMES)
def test_it_learns(name: str) -> None:
    samples = tiny_samples(60)
    settings = replace(default_settings(name), **OWN_SETTINGS.get(name, {}))
    optimiser = OWN_OPTIMISER.get(name, OptimiserSettings(learning_rate=0.05, constant_epochs=99))
    trainer = tiny_trainer(
        samples, name, settings=settings, optimiser=optimiser, test=samples, epochs=8, evaluate_every=9
    )
    history = trainer.run().history
    last, loss = history[-1], STEADY.get(name, "loss")
    first = next(record for record in history if record["phase"] == last["phase"])
    assert last[loss] < first[loss]
    assert last["accuracy"] > 0.8
