"""What an audit learns: judged without the image, calibrated without it, and only as much as is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import lond.audit.judge.learn
from lond.audit.judge.learn import MODEL, OUT_OF_FOLD, Learned, Learning, calibrated, learn, usual_folds
from lond.audit.judge.stage_files import StageFiles
from lond.audit.run import AuditSettings
from lond.crossfit.stages import Stages
from lond.data.feature_views import FeaturePixels
from lond.data.split import take
from lond.frozen.extractor import ExtractorSettings
from lond.identify import negative_margin
from lond.methods.cross_fit import CrossFit, opinion_of
from lond.presets.features import on_features
from lond.presets.for_audit import for_audit
from lond.progress.events import Event, listening
from lond.progress.work import overall
from lond.runs.calibration import FALSE_ALARM_RATE, load_calibration
from lond.train.runtime import RuntimeSettings
from lond.types import UNLABELLED, Prediction, Samples

ONE = RuntimeSettings("cpu", threads=1)


def samples_of(count: int = 60) -> tuple[Samples, Tensor]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % 3
    features = (3 * torch.randn(3, 8, generator=generator))[labels] + torch.randn(count, 8, generator=generator)
    pixels = FeaturePixels(features[:, None].numpy().astype(np.float32))
    return Samples(pixels, labels, ("a", "b", "c"), tuple(map(str, range(count)))), features


def test_margins_go_by_the_label_that_is_given() -> None:
    """A copy under another label shares everything with its original but the label."""
    votes, members = torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([[1.2, 0.2, -0.3]])
    opinions = SimpleNamespace(shares=lambda rows: votes[rows], members=lambda rows: members[rows])
    judgement: Any = SimpleNamespace(evidence=SimpleNamespace(opinions=opinions))
    found = Learned(judgement, torch.zeros(1, 1))
    neighbour, negative = found.margins(torch.tensor([0, 0, 0]), torch.tensor([0, 1, UNLABELLED]))
    assert neighbour.tolist() == pytest.approx([0.2 - 0.7, 0.7 - 0.2, 0.01 - 0.7])
    denials = torch.tensor([[0.0, 0.8, 1.0]]).double().expand(3, -1)
    assert negative.tolist() == pytest.approx(negative_margin(denials, torch.tensor([0, 1, 1])).tolist())


def test_networks_are_trained_in_fewer_folds_the_more_images_there_are() -> None:
    for count, folds in ((6, 3), (5_000, 5), (5_001, 3), (20_000, 3), (20_001, 2)):
        labels = torch.zeros(count, dtype=torch.long)
        assert usual_folds(labels, networks=True) == folds
        assert usual_folds(labels, networks=False) == min(5, count // 2)


def test_nothing_is_trained_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.audit.judge.learn, "train_samples", lambda *_, **__: pytest.fail("trained"))
    samples, features = samples_of()
    found = learn(samples, features, on_features(60), None, ONE, Learning(model=False, shown_neighbours=25))
    assert found.run is None and found.neighbours.shape == (60, 25)
    assert not (found.neighbours == torch.arange(60)[:, None]).any()
    assert found.judgement.chances.shape == (60, 3)


def test_every_network_judges_only_what_it_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in remembers its training samples and would give itself away."""
    samples, features = samples_of()
    trained: list[set[str]] = []

    def train(config: object, part: Samples, *_: object, **__: object) -> Any:
        ids = set(part.ids)
        trained.append(ids)

        def predict(asked: Samples) -> Prediction:
            assert len(trained) == 4 or not ids & set(asked.ids)
            scores = torch.tensor([float(name) for name in asked.ids])
            return Prediction(torch.full((len(asked), 3), 1 / 3), scores, torch.zeros(len(asked), 1), torch.zeros(1))

        return SimpleNamespace(run=SimpleNamespace(predict=predict))

    monkeypatch.setattr(lond.audit.judge.learn, "train_samples", train)
    asked: list[Tensor] = []
    real = calibrated

    def calibrate(judgement: Any, scores: Tensor, rows: Tensor, rate: float) -> Any:
        asked.extend([scores, rows])
        return real(judgement, scores, rows, rate)

    monkeypatch.setattr(lond.audit.judge.learn, "calibrated", calibrate)
    learn(samples, features, on_features(60), None, ONE, Learning(folds=3, networks=True))
    assert [len(ids) for ids in trained] == [40, 40, 40, 60]
    assert asked[0].tolist() == list(range(60)) and asked[1].tolist() == list(range(60))
    trained.clear()
    asked.clear()
    learn(samples, features, on_features(60), None, ONE, Learning(folds=3, false_alarm_rate=0.2))
    assert [len(ids) for ids in trained] == [40, 40, 40, 60]
    assert not trained[0] & {str(row) for row in asked[1].tolist()} and len(asked[1]) == 20
    # One fold of a small set is not enough; each image has the score of the run that did not see it.
    assert sorted(asked[3].tolist()) == list(range(60)) and asked[2].tolist() == asked[3].tolist()
    trained.clear()
    asked.clear()
    monkeypatch.setattr(lond.audit.judge.learn, "FEW_KNOWN", 10)
    learn(samples, features, on_features(60), None, ONE, Learning(folds=3, false_alarm_rate=0.2))
    assert [len(ids) for ids in trained] == [40, 60] and len(asked) == 2


@pytest.mark.parametrize(("networks", "runs", "size"), [(False, 4, 30), (True, 4, 60)])
def test_only_the_model_is_trained_on_fewer_images_of_large_sets(
    networks: bool, runs: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 images 30 are enough for the model; networks that judge images need all of the others."""
    samples, features = samples_of()
    trained: list[Tensor] = []

    def train(config: object, part: Samples, *_: object, **__: object) -> Any:
        trained.append(part.labels)

        def predict(asked: Samples) -> Prediction:
            count = len(asked)
            return Prediction(torch.full((count, 3), 1 / 3), torch.zeros(count), torch.zeros(count, 1), torch.zeros(1))

        return SimpleNamespace(run=SimpleNamespace(predict=predict))

    monkeypatch.setattr(lond.audit.judge.learn, "train_samples", train)
    monkeypatch.setattr(lond.audit.judge.learn, "MODEL_IMAGES", 30)
    learn(samples, features, on_features(60), None, ONE, Learning(folds=3, networks=networks, false_alarm_rate=0.2))
    assert len(trained) == runs and torch.bincount(trained[-1]).tolist() == [size // 3] * 3
    # About a third is left out of the others.
    assert all(size / 2 < len(labels) < size for labels in trained[:-1])
    assert sum(len(labels) for labels in trained[:-1]) == 2 * size


def test_audits_allow_as_many_false_alarms_as_training() -> None:
    assert Learning().false_alarm_rate == AuditSettings().false_alarm_rate == FALSE_ALARM_RATE


def test_all_folds_set_the_threshold_where_one_is_too_small() -> None:
    """A fifth of 60 images are 12, and 5 % false alarms need 19."""
    samples, features = samples_of()
    config = on_features(60, epochs=2)
    config = replace(config, net=replace(config.net, width=0.05))
    found = learn(samples, features, config, None, ONE, Learning(), show_progress=False)
    assert found.run is not None and found.run.calibration is not None
    assert found.run.calibration.false_alarm_rate == 0.05 and len(found.run.calibration.known_scores) >= 19


def test_false_alarms_on_new_images_keep_to_the_rate() -> None:
    """The scores come from five runs, and decide for a sixth: their scales must agree.

    The classes are well apart; where they overlap, hard images count for less, and there are about two points more.
    """
    count, alarms = 240, []
    for seed in range(3):
        random = torch.Generator().manual_seed(seed)
        centres = 2.5 * torch.randn(3, 8, generator=random)
        true = torch.arange(count + 900) % 3
        features = centres[true] + torch.randn(count + 900, 8, generator=random)
        given = torch.where(torch.rand(count, generator=random) < 0.15, (true[:count] + 1) % 3, true[:count])
        pixels = FeaturePixels(features[:, None].numpy().astype(np.float32))
        both = Samples(pixels, torch.cat([given, true[count:]]), ("a", "b", "c"), tuple(map(str, range(count + 900))))
        samples, new = take(both, torch.arange(count)), take(both, torch.arange(count, count + 900))
        config = for_audit("heads", count, 1, ExtractorSettings(), seed=seed, cache=None)
        run = learn(samples, features[:count], config, None, ONE, Learning(), show_progress=False).run
        assert run is not None and run.threshold is not None and run.calibration is not None
        assert len(run.calibration.known_scores) > 150
        alarms.append(float((run.predict(new).scores > run.threshold).float().mean()))
    assert sum(alarms) / len(alarms) == pytest.approx(0.05, abs=0.03), alarms


def test_every_training_of_an_audit_has_a_name_of_its_own() -> None:
    samples, features = samples_of(120)
    config = on_features(120, epochs=2)
    config = replace(config, net=replace(config.net, width=0.05))
    heard: list[Event] = []
    for how in (Learning(folds=2, false_alarm_rate=0.2), Learning(folds=2, networks=True)):
        with listening(heard.append), overall("audit"):
            learn(samples, features, config, None, ONE, how)
    assert list(dict.fromkeys(event.name for event in heard)) == [
        "setting the threshold",
        "training the model",
        "training, fold 1 of 2",
        "training, fold 2 of 2",
    ]


def test_the_model_of_an_audit_is_calibrated_on_images_it_did_not_see(tmp_path: Path) -> None:
    samples, features = samples_of(120)
    config = on_features(120, epochs=2)
    config = replace(config, net=replace(config.net, width=0.05))
    found = learn(samples, features, config, tmp_path, ONE, Learning(false_alarm_rate=0.2), show_progress=False)
    assert found.run is not None and found.run.calibration is not None
    stored = load_calibration(tmp_path / MODEL)
    assert stored is not None and stored.threshold == found.run.calibration.threshold
    assert (stored.source, stored.false_alarm_rate) == (OUT_OF_FOLD, 0.2)
    assert 24 < len(stored.known_scores) <= 120
    # Another rate next time: nothing is trained again, and the threshold follows.
    again = learn(samples, features, config, tmp_path, ONE, Learning(false_alarm_rate=0.4), show_progress=False)
    assert again.run is not None and again.run.calibration is not None
    assert again.run.calibration.threshold < stored.threshold


def test_an_audit_judges_once_for_all_it_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, features = samples_of(120)
    monkeypatch.setattr("lond.methods.cross_fit.judge_labels", lambda *_, **__: pytest.fail("judged again"))
    config = for_audit("heads", 120, 1, ExtractorSettings(), epochs=2, cache=None)
    config = replace(config, net=replace(config.net, width=0.05))
    found = learn(samples, features, config, None, ONE, Learning(), show_progress=False)
    assert found.run is not None and isinstance(found.run.method, CrossFit)
    wanted = opinion_of(found.judgement, config.settings)
    assert found.run.method.opinion is not None
    assert torch.equal(found.run.method.opinion.targets, wanted.targets)


@pytest.mark.parametrize("large", [False, True])
def test_the_run_for_the_threshold_is_kept_only_where_it_takes_long(large: bool, tmp_path: Path) -> None:
    samples, features = samples_of(120)
    config = for_audit("heads", 120, 1, ExtractorSettings(), epochs=2, cache=None)
    config = replace(config, net=replace(config.net, width=0.05))
    stages = Stages(StageFiles(tmp_path / "stages", "key") if large else None)
    found = learn(samples, features, config, tmp_path, ONE, Learning(stages=stages), show_progress=False)
    assert (tmp_path / MODEL).is_dir() and (tmp_path / "fold0").is_dir() == large
    again = learn(samples, features, config, tmp_path, ONE, Learning(stages=stages), show_progress=False)
    assert found.run is not None and again.run is not None and found.run.threshold is not None
    assert found.run.threshold == again.run.threshold
