"""Cross-fit: when labels are judged, what is learned, and what is said of new images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.test_on_features import clouds
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task

from lond.crossfit.confusion import posterior
from lond.crossfit.judgement import judge_labels
from lond.errors import ConfigError
from lond.losses.mixup import draw_mix
from lond.methods import CrossFit, CrossFitSettings, Task
from lond.methods.cross_fit import foreign_score, opinion_of, partition_of, sharpened, wrong_share
from lond.nets import build_backbone
from lond.types import FOREIGN, Batch, Clock, Samples


def on_features(samples: Samples, **changes: Any) -> tuple[CrossFit, Any]:
    """Return the method on features, and a survey of them."""
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)  # type: ignore[attr-defined]
    task = Task(
        samples.labels,
        samples.num_classes,
        lambda: build_backbone("features", in_channels=1, image_size=(1, values.shape[1]), width=0.0625),
        samples.confirmed,
    )
    method = CrossFit(CrossFitSettings(**{"warmup_epochs": 1, **changes}), task)

    @torch.no_grad()
    def survey(describe: Any) -> tuple[torch.Tensor, ...]:
        method.eval()
        found: tuple[torch.Tensor, ...] = describe(values)
        return found

    return method, survey


def test_features_are_judged_before_the_first_epoch() -> None:
    samples = clouds()
    method, survey = on_features(samples)
    (phase,) = method.before_epoch(0, survey)
    assert phase.name == "judged" and not phase.is_warmup
    assert method.on_features and method.opinion is not None
    assert torch.equal(method.targets, sharpened(method.opinion.targets, 2.0))
    assert torch.allclose(method.targets.sum(dim=1), torch.ones(60), atol=1e-5)
    truth = samples.true_labels
    assert truth is not None
    # A fifth of the labels is wrong; the targets know better.
    assert (method.targets[:, :-1].argmax(dim=1) == truth).float().mean() > 0.9
    assert method.partition is not None and method.partition.closed.any()


def test_images_are_judged_after_the_warm_up_and_again() -> None:
    samples = tiny_samples(40)
    method = tiny_method(samples, "cross-fit", CrossFitSettings(warmup_epochs=1, judge_epochs=2))
    assert isinstance(method, CrossFit)
    survey = survey_of(method, samples)
    (phase,) = method.before_epoch(0, survey)
    assert phase.is_warmup and method.partition is None
    opinions = []
    for epoch in (1, 2, 3):
        (phase,) = method.before_epoch(epoch, survey)
        assert phase.name == "own opinion"
        opinions.append(method.opinion)
    assert opinions[0] is opinions[1]
    assert opinions[2] is not opinions[1]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_own_targets_mix_the_averaged_network_with_what_was_judged(share: float) -> None:
    samples = clouds()
    method, survey = on_features(samples, own_opinion=share, sharpening=1.0)
    method.before_epoch(0, survey)
    method.before_epoch(1, survey)
    opinion = method.opinion
    assert opinion is not None
    with torch.no_grad():
        values = torch.from_numpy(samples.pixels.values).mean(dim=1)  # type: ignore[attr-defined]
        prior = method.teacher(values)[1].softmax(dim=1)
    own = posterior(prior, samples.labels, opinion.confusion, opinion.foreign_rate)
    assert torch.allclose(method.targets, share * own + (1 - share) * opinion.targets, atol=1e-6)


def test_what_a_person_marked_foreign_stays_so_whatever_the_network_says() -> None:
    samples = clouds()
    labels = samples.labels.clone()
    labels[:4] = FOREIGN
    method, survey = on_features(replace(samples, labels=labels), own_opinion=1.0)
    for epoch in (0, 1):
        method.before_epoch(epoch, survey)
        assert method.targets[:4, -1].tolist() == [1.0] * 4
        assert method.partition is not None and method.partition.open[:4].all()


def test_an_opinion_is_a_mean_of_two() -> None:
    samples = clouds()
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)  # type: ignore[attr-defined]
    judgement = judge_labels(values, samples.labels, 3)
    table, model, both = (
        opinion_of(judgement, CrossFitSettings(noise_model=share)).targets for share in (0.0, 1.0, 0.5)
    )
    assert torch.allclose(table[:, :-1], judgement.targets)
    assert torch.allclose(both, (table + model) / 2, atol=1e-6)


def test_sharpening_by_hand() -> None:
    chances = torch.tensor([[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    assert sharpened(chances, 2.0).flatten().tolist() == pytest.approx([36 / 46, 9 / 46, 1 / 46, 1.0, 0.0, 0.0])
    assert torch.allclose(sharpened(chances, 1.0), chances)


def test_step_is_cross_entropy_with_the_targets() -> None:
    samples = clouds()
    method, survey = on_features(samples)
    method.before_epoch(0, survey)
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)[:8]  # type: ignore[attr-defined]
    batch = Batch(torch.arange(8), samples.labels[:8], (values,))
    (term,) = method.eval().step("judged", {"all": batch}, Clock(0), torch.Generator()).values()
    with torch.no_grad():
        rows = method.net(values)[1].double().softmax(dim=1).log().tolist()
    for row, targets, value in zip(rows, method.targets[:8].tolist(), term.values.tolist(), strict=True):
        assert value == pytest.approx(-sum(t * x for t, x in zip(targets, row, strict=True)), abs=1e-5)


def test_images_are_learned_from_both_views_unless_told_otherwise() -> None:
    samples = tiny_samples(20)
    for strong, views in ((True, ("weak", "strong")), (False, ("weak",))):
        settings = CrossFitSettings(warmup_epochs=0, strong_views=strong)
        method = tiny_method(samples, "cross-fit", settings).eval()
        assert isinstance(method, CrossFit)
        (phase,) = method.before_epoch(0, survey_of(method, samples))
        assert phase.streams["all"].views == views
        batch = first_batches(samples, phase, 8)["all"]
        terms = method.step(phase.name, {"all": batch}, Clock(0), torch.Generator())
        assert list(terms) == ["targets", "strong_targets"][: len(views)]
        for term, view in zip(terms.values(), batch.views, strict=True):
            with torch.no_grad():
                logs = method.net(view)[1].log_softmax(dim=1)
            expected = -(method.targets[batch.indices] * logs).sum(dim=1)
            assert torch.allclose(term.values, expected, atol=1e-5)


def test_features_and_targets_are_mixed_alike() -> None:
    samples = clouds()
    method, survey = on_features(samples, mixing=2)
    method.before_epoch(0, survey)
    assert method.opinion is not None
    wrong = wrong_share(method.opinion.targets, samples.labels)
    assert method.concentration == pytest.approx(2 * wrong) and wrong > 0.1
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)[:8]  # type: ignore[attr-defined]
    batch = Batch(torch.arange(8), samples.labels[:8], (values,))
    (term,) = method.eval().step("judged", {"all": batch}, Clock(0), torch.Generator().manual_seed(3)).values()
    mix = draw_mix(8, method.concentration, torch.Generator().manual_seed(3))
    assert mix.ratio < 1
    with torch.no_grad():
        logs = method.net(mix.ratio * values + (1 - mix.ratio) * values[mix.partners])[1].log_softmax(dim=1)
    mixed = mix.ratio * method.targets[:8] + (1 - mix.ratio) * method.targets[mix.partners]
    assert torch.allclose(term.values, -(mixed * logs).sum(dim=1), atol=1e-5)


def test_wrong_share_by_hand() -> None:
    targets = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0], [0.3, 0.7, 0.0]])
    assert wrong_share(targets, torch.tensor([0, 0, 1, -2])) == pytest.approx((0.1 + 0.7 + 0.0) / 3)
    assert wrong_share(targets, torch.full((4,), -2)) == 0.0
    assert wrong_share(torch.eye(3)[:2], torch.tensor([0, 1])) == 0.0


def test_features_are_learned_from_one_view() -> None:
    method, survey = on_features(clouds(), strong_views=True)
    (phase,) = method.before_epoch(0, survey)
    assert phase.streams["all"].views == ("weak",)


def test_the_warm_up_learns_given_labels() -> None:
    samples = tiny_samples(20)
    method = tiny_method(samples, "cross-fit").eval()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batch = first_batches(samples, phase, 8)["all"]
    (term,) = method.step(phase.name, {"all": batch}, Clock(0), torch.Generator()).values()
    with torch.no_grad():
        logs = method.net(batch.views[0])[1].log_softmax(dim=1)
    assert torch.allclose(term.values, -logs[torch.arange(8), batch.labels], atol=1e-5)


def test_foreign_score_is_the_mean_of_log_odds_and_energy() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 3.0]])
    known = torch.logsumexp(logits[:, :2], dim=1)
    odds, energy = logits[:, 2] - known, logits[:, :2].mean(dim=1) - known
    assert torch.allclose(foreign_score(logits), (odds + energy) / 2)
    assert foreign_score(logits)[1] > foreign_score(logits)[0]


def test_partition_by_hand() -> None:
    targets = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]])
    partition = partition_of(targets, torch.tensor([0, 0, 0, -2]))
    assert partition.names() == ["clean", "closed", "open", "closed"]
    assert partition.corrected.tolist() == [0, 1, 0, 0]
    assert partition.weights.tolist() == pytest.approx([8 / 9, 7 / 8, 0.0, 2 / 3])


def test_it_can_be_built_without_labels() -> None:
    task = tiny_task(tiny_samples(8))
    empty = Task(task.labels[:0], task.num_classes, task.build_backbone)
    assert CrossFit(CrossFitSettings(), empty).eval().predict(torch.zeros(2, 1, 8, 8)).probabilities.shape == (2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_epochs": -1}, {"judge_epochs": 0}, {"own_opinion": -0.1}, {"own_opinion": 1.1}, {"noise_model": 2.0},
        {"hidden": 0}, {"sharpening": 0.0}, {"mixing": -0.1},
    ],
)  # fmt: skip
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CrossFitSettings(**changes)


def test_what_was_judged_before_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = clouds()
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)  # type: ignore[attr-defined]
    opinion = opinion_of(judge_labels(values, samples.labels, 3), CrossFitSettings())
    method, survey = on_features(samples)
    monkeypatch.setattr("lond.methods.cross_fit.judge_labels", lambda *_, **__: pytest.fail("judged"))
    method.told(opinion)
    (phase,) = method.before_epoch(0, survey)
    assert phase.name == "judged" and method.opinion is opinion


def test_an_opinion_of_some_images_looks_at_no_others() -> None:
    samples = clouds()
    values = torch.from_numpy(samples.pixels.values).mean(dim=1)  # type: ignore[attr-defined]
    judgement = judge_labels(values, samples.labels, 3)
    rows = torch.arange(0, 60, 2)
    table = opinion_of(judgement, CrossFitSettings(noise_model=0.0), rows)
    assert torch.allclose(table.targets[:, :-1], judgement.targets[rows])
    assert table.foreign_rate == pytest.approx(float(judgement.chances[rows, 2].mean()))
    everyone = opinion_of(judgement, CrossFitSettings(), torch.arange(60))
    assert torch.equal(everyone.targets, opinion_of(judgement, CrossFitSettings()).targets)


def test_labels_that_a_person_confirmed_are_known() -> None:
    samples = clouds()
    assert samples.true_labels is not None and CrossFit.uses_confirmed
    wrong = (samples.labels != samples.true_labels).nonzero().squeeze(1)[:3]
    confirmed = torch.zeros(60, dtype=torch.bool)
    confirmed[wrong] = True
    method, survey = on_features(replace(samples, confirmed=confirmed))
    for epoch in (0, 2):
        method.before_epoch(epoch, survey)
        known = method.targets[wrong]
        assert torch.equal(known, torch.nn.functional.one_hot(samples.labels[wrong], 4).to(known))
        assert method.partition is not None and method.partition.clean[wrong].all()
    doubted, survey = on_features(samples)
    doubted.before_epoch(0, survey)
    assert (doubted.targets[wrong].argmax(dim=1) != samples.labels[wrong]).any()
