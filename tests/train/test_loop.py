"""The loop: stop and resume to the last bit, log, evaluation, collapse."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.tiny import lond_settings, tiny_samples, tiny_trainer, write_npz
from torch import Tensor

from lond.cli import app
from lond.detect import Network
from lond.errors import CollapseError, ConfigError, DataError
from lond.methods import Method, Survey
from lond.train import Trainer, TrainSettings
from lond.train.checkpoint import load_state, same_state
from lond.train.loop import LOG, mean_of_last
from lond.train.schedule import OptimiserSettings
from lond.train.state import CHECKPOINT, save_checkpoint
from lond.types import FOREIGN, UNLABELLED, Batch, Clock, Phase, Prediction, Samples, Stream, Term

EPOCHS = 4


def noisy_samples() -> Samples:
    labels = torch.arange(40) % 3
    labels[:12] = (labels[:12] + 1) % 3
    return tiny_samples(40, labels=labels)


def trainer_in(folder: Path | None, method: str = "lond-drs", optimiser: str = "sgd", **changes: Any) -> Trainer:
    settings = lond_settings(warmup_epochs=2) if method == "lond-drs" else None
    rates = OptimiserSettings(optimiser, learning_rate=0.02, constant_epochs=2)  # type: ignore[arg-type]
    test = tiny_samples(20, seed=5)
    options: dict[str, Any] = {"epochs": EPOCHS, "test": test} | changes
    return tiny_trainer(noisy_samples(), method, settings=settings, optimiser=rates, folder=folder, **options)


def timeless(value: Any) -> Any:
    """Return a state without its clock times, and with NaN made comparable."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    if isinstance(value, list | tuple):
        return [timeless(item) for item in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def final_state(folder: Path) -> Any:
    return timeless(load_state(folder / CHECKPOINT))


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    return [timeless(json.loads(line)) for line in lines]


class Killed(BaseException):
    """Not an Exception: nothing may catch it, as nothing can catch a killed process."""


def kill_at(trainer: Trainer, epoch: int, step: int) -> None:
    """Let the trainer die in the middle of a step."""
    original = trainer.method.step

    def deadly(phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        terms = original(phase, batches, clock, random)
        if (clock.epoch, clock.step) == (epoch, step):
            raise Killed
        return terms

    trainer.method.step = deadly  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    done: dict[tuple[str, str], Path] = {}

    def run(method: str, optimiser: str) -> Path:
        if (method, optimiser) not in done:
            folder = tmp_path_factory.mktemp(f"{method}-{optimiser}")
            trainer_in(folder, method, optimiser).run()
            done[method, optimiser] = folder
        return done[method, optimiser]

    return run


@pytest.mark.parametrize(
    ("method", "optimiser", "deaths"),
    [
        ("lond-drs", "sgd", [(1, 0)]),
        ("lond-drs", "sgd", [(2, 0)]),
        ("lond-drs", "sgd", [(0, 1), (1, 2), (2, 1), (3, 2)]),
        ("lond-drs", "adam", [(2, 1), (3, 0)]),
        ("standard", "sgd", [(0, 2), (2, 1)]),
        ("standard", "adam", [(3, 1)]),
    ],
)
def test_a_killed_run_resumes_to_the_last_bit(
    method: str,
    optimiser: str,
    deaths: list[tuple[int, int]],
    tmp_path: Path,
    uninterrupted: Callable[[str, str], Path],
) -> None:
    whole = uninterrupted(method, optimiser)
    for number, (epoch, step) in enumerate(deaths):
        trainer = trainer_in(tmp_path, method, optimiser)
        assert trainer.resume() == (deaths[number - 1][0] > 0 if number else False)
        kill_at(trainer, epoch, step)
        with pytest.raises(Killed):
            trainer.run()
        assert len(log_of(tmp_path)) == epoch
        # What other code does with the global generators in between must not matter.
        torch.manual_seed(number)
        torch.rand(7)
    trainer = trainer_in(tmp_path, method, optimiser)
    trainer.resume()
    result = trainer.run()
    assert [record["epoch"] for record in result.history] == list(range(EPOCHS))
    assert same_state(final_state(tmp_path), final_state(whole))
    assert log_of(tmp_path) == log_of(whole)


def test_a_longer_log_is_cut_back_to_the_checkpoint(tmp_path: Path, uninterrupted: Callable[[str, str], Path]) -> None:
    trainer = trainer_in(tmp_path, "standard")
    kill_at(trainer, 2, 1)
    with pytest.raises(Killed):
        trainer.run()
    with (tmp_path / LOG).open("a") as log:
        log.write('{"epoch": 2, "loss": 0.1}\n{"epoch": 3, "los')
    trainer = trainer_in(tmp_path, "standard")
    trainer.resume()
    trainer.run()
    assert log_of(tmp_path) == log_of(uninterrupted("standard", "sgd"))


def test_resuming_a_finished_run_trains_nothing(uninterrupted: Callable[[str, str], Path]) -> None:
    folder = uninterrupted("standard", "sgd")
    before = (folder / CHECKPOINT).read_bytes()
    trainer = trainer_in(folder, "standard")
    assert trainer.resume()
    kill_at(trainer, 0, 0)
    result = trainer.run()
    assert len(result.history) == EPOCHS
    assert (folder / CHECKPOINT).read_bytes() == before


def test_resuming_brings_the_verdicts_back(uninterrupted: Callable[[str, str], Path]) -> None:
    folder = uninterrupted("lond-drs", "sgd")
    trainer = trainer_in(folder)
    assert trainer.method.partition is None
    trainer.resume()
    assert trainer.method.partition is not None
    assert same_state(trainer.method.partition.state_dict(), load_state(folder / CHECKPOINT)["extra"]["partition"])


def test_every_epoch_and_seed_has_random_numbers_of_its_own() -> None:
    seen = []
    for seed in (0, 1):
        trainer = trainer_in(None, "standard", epochs=3, seed=seed)
        original = trainer.method.step

        def noted(phase: str, batches: Any, clock: Clock, random: torch.Generator, original: Any = original) -> Any:
            seen.append((random.initial_seed(), torch.initial_seed(), tuple(batches["all"].indices.tolist())))
            return original(phase, batches, clock, random)

        trainer.method.step = noted  # type: ignore[method-assign]
        trainer.run()
    assert len(seen) == 2 * 3 * 3
    steps, globals_, orders = zip(*seen, strict=True)
    assert len(set(steps)) == len(set(globals_)) == 6
    assert len(set(orders)) == len(seen)


def test_nothing_is_written_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = trainer_in(None, "standard", epochs=1)
    assert not trainer.resume()
    assert trainer.run().metrics["loss"] > 0
    assert list(tmp_path.iterdir()) == []


def test_another_seed_gives_another_run(uninterrupted: Callable[[str, str], Path], tmp_path: Path) -> None:
    trainer_in(tmp_path, "standard", seed=1).run()
    assert not same_state(final_state(tmp_path), final_state(uninterrupted("standard", "sgd")))


# A process killed from outside

SETTINGS = (
    "train.epochs=14", "train.batch_size=32", "train.evaluate_every=99", "train.average_last=1", "net.width=0.25",
    "settings.warmup_epochs=2", "settings.embedding_size=16", "settings.identify.neighbours=10",
    "settings.identify.clean_quantile=1.0",
)  # fmt: skip


def arguments(source: Path, folder: Path) -> list[str]:
    settings = [part for text in SETTINGS for part in ("--set", text)]
    method = ["--method", "lond-drs"]
    return ["train", str(source), *method, "--threads", "1", "--accelerator", "cpu", "--out", str(folder), *settings]


def test_a_process_killed_by_the_system_resumes_to_the_last_bit(tmp_path: Path) -> None:
    source, cut, whole = tmp_path / "images.npz", tmp_path / "cut", tmp_path / "whole"
    write_npz(source)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "lond.cli", *arguments(source, cut)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (cut / CHECKPOINT).is_file() and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended by itself"
        time.sleep(0.01)
    time.sleep(0.1)  # into a later epoch
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 0 < len(load_state(cut / CHECKPOINT)["history"]) < 14
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    threads = torch.get_num_threads()
    try:
        app(arguments(source, whole), standalone_mode=False)
    finally:
        torch.set_num_threads(threads)
    assert same_state(final_state(cut), final_state(whole))
    assert log_of(cut) == log_of(whole)


# Evaluation and records


def test_evaluation_only_when_due() -> None:
    trainer = trainer_in(None, "standard", epochs=7, evaluate_every=3, average_last=2)
    history = trainer.run().history
    assert [record["epoch"] for record in history if "accuracy" in record] == [2, 5, 6]


def test_no_test_set_is_fine() -> None:
    result = trainer_in(None, test=None).run()
    assert "accuracy" not in result.history[-1]
    assert result.metrics["loss"] > 0
    assert result.metrics["clean_size"] > 0


@pytest.mark.parametrize("foreign", [False, True])
def test_foreign_test_images_give_an_auroc(foreign: bool) -> None:
    labels = torch.arange(20) % 3
    if foreign:
        labels[labels == 2] = FOREIGN
    record = trainer_in(None, "standard", epochs=1, test=tiny_samples(20, labels=labels)).run().history[-1]
    assert 0 <= record["accuracy"] <= 1
    assert ("auroc" in record) == ("fpr95" in record) == foreign


def test_the_selection_is_judged_only_where_the_truth_is_known() -> None:
    labels = torch.arange(40) % 3
    for truth in (True, False):
        samples = tiny_samples(40, labels=labels, truth=truth)
        history = tiny_trainer(samples, settings=lond_settings(), epochs=2).run().history
        assert "clean_size" not in history[0]
        record = history[1]
        assert record["clean_size"] + record["closed_size"] + record["open_size"] == 40
        assert ("clean_precision" in record) == truth


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    record = trainer_in(None).run().history[0]
    assert record["phase"] == "warm-up"
    assert record["loss"] == pytest.approx(record["loss_one_vs_all"] + record["loss_contrastive"], rel=1e-5)


def test_rates_follow_the_plan() -> None:
    trainer = trainer_in(None, "standard", epochs=4)
    history = trainer.run().history
    assert [record["learning_rate"] for record in history[:2]] == [0.02, 0.02]
    assert history[-1]["learning_rate"] == pytest.approx(5e-5)
    assert trainer.optimiser.param_groups[0]["lr"] == history[-1]["learning_rate"]


def test_mean_of_last() -> None:
    history = [
        {"epoch": 0, "loss": 9.0, "accuracy": 0.1, "phase": "a"},
        {"epoch": 1, "loss": 2.0, "phase": "b", "learning_rate": 0.1, "seconds": {"train": 1.0}},
        {"epoch": 2, "loss": 4.0, "phase": "b", "accuracy": 0.5, "learning_rate": 0.1, "size": 3},
    ]
    assert mean_of_last(history, 2) == {"loss": 3.0}
    assert mean_of_last(history, 1) == {"loss": 4.0, "accuracy": 0.5, "size": 3.0}
    assert mean_of_last(history, 50) == {"loss": 3.0}  # the first epoch was of another phase
    assert mean_of_last([], 3) == {}


def test_the_reported_figures_are_means_over_the_last_epochs() -> None:
    result = trainer_in(None, "standard", epochs=3, average_last=2).run()
    expected = sum(record["accuracy"] for record in result.history[-2:]) / 2
    assert result.metrics["accuracy"] == pytest.approx(expected)


# Refusals


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_keeps_the_last_good_checkpoint(tmp_path: Path, value: float) -> None:
    trainer = trainer_in(tmp_path, "standard")
    original = trainer.method.step

    def spoilt(phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        terms = original(phase, batches, clock, random)
        if (clock.epoch, clock.step) == (1, 1):
            return {name: Term(term.values * value, term.weight) for name, term in terms.items()}
        return terms

    trainer.method.step = spoilt  # type: ignore[method-assign]
    with pytest.raises(CollapseError, match="epoch 1, step 1 is not finite"):
        trainer.run()
    state = load_state(tmp_path / CHECKPOINT)
    assert len(state["history"]) == len(log_of(tmp_path)) == 1
    tensors = [tensor for tensor in state["method"].values() if tensor.is_floating_point()]
    assert all(bool(tensor.isfinite().all()) for tensor in tensors)


def test_a_damaged_checkpoint_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"rubbish")
    with pytest.raises(DataError, match="damaged"):
        trainer_in(tmp_path, "standard").resume()


@pytest.mark.parametrize("method", ["standard", "lond-drs"])
def test_a_damaged_newest_checkpoint_costs_one_epoch_and_no_bit(
    method: str, tmp_path: Path, uninterrupted: Callable[[str, str], Path]
) -> None:
    trainer = trainer_in(tmp_path, method)
    kill_at(trainer, 3, 1)
    with pytest.raises(Killed):
        trainer.run()
    content = bytearray((tmp_path / CHECKPOINT).read_bytes())
    content[-9] ^= 64
    (tmp_path / CHECKPOINT).write_bytes(content)
    trainer = trainer_in(tmp_path, method)
    with pytest.warns(UserWarning, match="damaged .* going on from the one before it, after 2 epochs"):
        assert trainer.resume()
    trainer.run()
    assert same_state(final_state(tmp_path), final_state(uninterrupted(method, "sgd")))
    assert log_of(tmp_path) == log_of(uninterrupted(method, "sgd"))


def test_going_on_in_another_way_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = trainer_in(tmp_path, "standard")
    kill_at(trainer, 1, 1)
    with pytest.raises(Killed):
        trainer.run()
    trainer = trainer_in(tmp_path, "standard")
    trainer.runtime.precision = "bf16-mixed"
    with pytest.warns(UserWarning, match=r"in another way \(precision 32-true before, bf16-mixed now\)"):
        trainer.resume()


def test_a_state_that_does_not_fit_is_a_data_error(tmp_path: Path) -> None:
    state = trainer_in(tmp_path, "standard").state()
    save_checkpoint(tmp_path, state | {"method": {"weight": torch.zeros(2)}}, {})
    with pytest.raises(DataError, match="does not fit its network"):
        trainer_in(tmp_path, "standard").resume()


def test_fewer_than_two_labelled_images_are_refused() -> None:
    labels = torch.full((5,), UNLABELLED)
    labels[2] = 1
    with pytest.raises(DataError, match="at least two"):
        tiny_trainer(tiny_samples(5, labels=labels))


@pytest.mark.parametrize(
    "values", [{"epochs": 0}, {"batch_size": 1}, {"evaluation_batch": 0}, {"average_last": 0}, {"evaluate_every": 0}]
)
def test_settings_that_mean_nothing_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        TrainSettings(**values)


def test_survey_and_predictions_come_in_order() -> None:
    samples = noisy_samples()
    trainer = trainer_in(None, "standard", evaluation_batch=7)
    (shown,) = trainer.survey(lambda images: (images.mean(dim=(1, 2, 3)),))
    expected = trainer.views.test(samples.pixels.images).mean(dim=(1, 2, 3))
    assert torch.allclose(shown, expected, atol=1e-6)
    assert not trainer.method.training


class Hooked(Method):
    """Surveys between its phases and notes what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.asked: list[str] = []

    def before_epoch(self, epoch: int, survey: Survey) -> Iterator[Phase]:
        everything = {"all": Stream(torch.arange(6), ("test",))}
        for name in ("first", "second"):
            (means,) = survey(lambda images: (self.layer(images.mean(dim=(2, 3))),))
            assert not self.training
            self.asked.append(f"survey {len(means)}")
            yield Phase(name, everything, lead=6)

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        assert self.training
        self.asked.append(f"step {phase}")
        weight = {"first": 1.0, "second": 3.0}[phase]
        return {"part": Term(self.layer(batches["all"].views[0].mean(dim=(2, 3)))[:, 0] * 0 + weight)}

    def after_step(self) -> None:
        self.asked.append("after step")

    def after_epoch(self, epoch: int) -> None:
        self.asked.append(f"after epoch {epoch}")

    def predict(self, images: Tensor) -> Prediction:
        raise NotImplementedError

    def network(self) -> Network:
        raise NotImplementedError


def test_phases_may_be_yielded_and_hooks_are_called() -> None:
    trainer = tiny_trainer(tiny_samples(6), "standard", epochs=1, batch_size=4)
    trainer.method = method = Hooked()
    (record,) = trainer.run().history
    assert method.asked == [
        "survey 6", "step first", "after step", "step first", "after step",
        "survey 6", "step second", "after step", "step second", "after step",
        "after epoch 0",
    ]  # fmt: skip
    assert record["phase"] == "first+second"
    assert (record["first_loss"], record["second_loss"], record["loss"]) == (1.0, 3.0, 2.0)
    assert record["first_loss_part"] == 1.0
    assert record["seconds"]["identify"] >= 0


class Sometimes(Hooked):
    """Has one term in every step, another one in the first and last of three."""

    def before_epoch(self, epoch: int, survey: Survey) -> Iterator[Phase]:
        yield Phase("only", {"all": Stream(torch.arange(6), ("test",))}, lead=6)

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        zero = self.layer(batches["all"].views[0].mean(dim=(2, 3)))[:, 0] * 0
        terms = {"always": Term(zero + (1.0, 2.0, 6.0)[clock.step])}
        if clock.step != 1:
            terms["rare"] = Term(zero + (10.0, 0.0, 20.0)[clock.step], weight=0.5)
        return terms


def test_a_term_is_averaged_over_the_steps_that_had_it() -> None:
    trainer = tiny_trainer(tiny_samples(6), "standard", epochs=1, batch_size=2)
    trainer.method = Sometimes()
    (record,) = trainer.run().history
    assert (record["loss_always"], record["loss_rare"]) == (3.0, 15.0)
    # The steps' losses are 1 + 5, 2 and 6 + 10.
    assert record["loss"] == 8.0


def test_steps_can_be_limited() -> None:
    counts = []
    for limit in (0, 2):
        trainer = tiny_trainer(tiny_samples(40), "standard", epochs=1, batch_size=8, max_steps=limit)
        original, calls = trainer.method.step, []
        trainer.method.step = lambda *a, original=original, calls=calls: calls.append(1) or original(*a)  # type: ignore[method-assign]
        trainer.run()
        counts.append(len(calls))
    assert counts == [5, 2]
    with pytest.raises(ConfigError, match="max_steps"):
        TrainSettings(max_steps=-1)
