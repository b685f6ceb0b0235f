"""NGC: beliefs, selection, losses and prototypes against loops and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import nearest_neighbours, neighbour_graph, propagate_labels
from lond.losses import draw_mix, instance_contrastive, subgraph_contrastive
from lond.methods import Ngc, NgcSettings, Task
from lond.methods.ngc import keep_plausible, start_labels
from lond.types import UNLABELLED, Batch, Clock, Partition, Samples, Term


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ngc(samples: Samples, **changes: Any) -> Ngc:
    settings = NgcSettings(**{"warmup_epochs": 1, "neighbours": 6, "embedding_size": 8} | changes)
    method = tiny_method(samples, "ngc", settings)
    assert isinstance(method, Ngc)
    return method


def judged(kept: list[bool], labels: list[int]) -> Partition:
    mask = torch.tensor(kept)
    return Partition(mask, torch.zeros_like(mask), ~mask, mask.float(), torch.tensor(labels))


def robust_step(method: Ngc, batch: Batch, kept: list[bool], labels: list[int]) -> dict[str, Term]:
    """One step after warm-up on a batch of the first samples, judged as said."""
    method.partition = judged(kept, labels)
    return method.step("robust", {"all": batch}, Clock(5), seeded())


def make_batch(size: int = 6) -> Batch:
    views = torch.randn(2, size, 1, 8, 8, generator=seeded(3))
    return Batch(torch.arange(size), torch.arange(size) % 3, (views[0], views[1]))


# The start of the propagation and the plausible labels


def test_start_labels() -> None:
    probabilities = torch.tensor([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
    labels = torch.tensor([1, UNLABELLED, 0])
    assert start_labels(probabilities, labels, None).tolist() == [[0, 1], [0, 0], [1, 0]]
    later = start_labels(probabilities, labels, judged([True, False, False], [0, 0, 0]))
    torch.testing.assert_close(later, torch.tensor([[1.0, 0.0], [0.2, 0.8], [0.5, 0.5]]))


def test_plausible_labels_stay() -> None:
    beliefs = torch.tensor([[0.7, 0.3], [0.7, 0.3], [0.7, 0.3], [0.6, 0.4]])
    labels = torch.tensor([1, UNLABELLED, 0, 1])
    got = keep_plausible(beliefs, labels, 0.35)
    torch.testing.assert_close(got, torch.tensor([[0.7, 0.3], [0.7, 0.3], [1.0, 0.0], [0.0, 1.0]]))


# Once an epoch


def slow_largest(neighbours: Tensor, labels: list[int], candidates: list[bool]) -> set[int]:
    """Grow every component of mutual neighbours from its lowest index."""
    lists = [set(row) for row in neighbours.tolist()]
    best: dict[int, set[int]] = {}
    seen: set[int] = set()
    for start in range(len(labels)):
        if not candidates[start] or start in seen:
            continue
        component, front = {start}, [start]
        while front:
            i = front.pop()
            for j in lists[i]:
                if candidates[j] and labels[i] == labels[j] and i in lists[j] and j not in component:
                    component.add(j)
                    front.append(j)
        seen |= component
        if len(component) > len(best.get(labels[start], ())):
            best[labels[start]] = component
    return set().union(*best.values()) if best else set()


@torch.no_grad()
def test_three_epochs_of_cleaning_equal_the_slow_way() -> None:
    labels = torch.randint(3, (40,), generator=seeded(1))
    samples = tiny_samples(40, labels=labels)
    method = ngc(samples, eta_low=0.4, eta_high=0.6)
    averaged = np.zeros((40, 3))
    previous: Partition | None = None
    for epoch in range(3):
        logits, embeddings = survey_of(method, samples)(method._describe)
        method.before_epoch(epoch, survey_of(method, samples))
        averaged = 0.6 * averaged + 0.4 * logits.double().numpy()
        probabilities = F.softmax(torch.tensor(averaged / (1 - 0.6 ** (epoch + 1))), dim=1).float()
        near = nearest_neighbours(embeddings, 6, include_self=False)
        start = F.one_hot(labels, 3).float()
        if previous is not None:
            start = probabilities.clone()
            for i in (~previous.open).nonzero().flatten().tolist():
                start[i] = F.one_hot(previous.corrected[i], 3).float()
        beliefs = propagate_labels(neighbour_graph(near, 3.0), start, 0.5)
        for i, label in enumerate(labels.tolist()):
            if beliefs[i, label] > 0.4:
                beliefs[i] = F.one_hot(torch.tensor(label), 3)
        confident = (beliefs.amax(dim=1) > 0.6).tolist()
        kept = slow_largest(near.indices, beliefs.argmax(dim=1).tolist(), confident)
        previous = method.partition
        assert previous is not None
        assert set((~previous.open).nonzero().flatten().tolist()) == kept
        assert torch.equal(previous.corrected, beliefs.argmax(dim=1))
        trust = beliefs.amax(dim=1).where(~previous.open, torch.tensor(0.0))
        torch.testing.assert_close(previous.weights, trust, atol=1e-4, rtol=1e-4)
        assert previous.open.any()
        assert torch.equal(previous.clean, ~previous.open & (previous.corrected == labels))
        # The next epoch sees another network.
        for parameter in method.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=seeded(epoch)))


def test_thresholds_have_an_effect_and_low_defaults_to_one_by_classes() -> None:
    samples = tiny_samples(60, labels=torch.randint(3, (60,), generator=seeded(1)))

    def partition(**changes: Any) -> Partition:
        method = ngc(samples, **changes)
        method.partition = judged([False] * 60, [0] * 60)  # start from the predictions, not from the labels
        method.before_epoch(0, survey_of(method, samples))
        assert method.partition is not None
        return method.partition

    assert torch.equal(partition(eta_high=0.0).weights, partition(eta_low=1 / 3, eta_high=0.0).weights)
    few, many = partition(eta_low=0.99, eta_high=0.0), partition(eta_low=0.0, eta_high=0.0)
    assert not torch.equal(few.corrected, samples.labels)
    assert torch.equal(many.corrected, samples.labels)
    beliefs = partition(eta_low=0.99, eta_high=0.0).weights
    assert (partition(eta_low=0.99, eta_high=float(beliefs.median())).open.sum()) >= 30


@pytest.mark.parametrize(
    "changes",
    [{"neighbours": 2}, {"propagation": 0.1}, {"similarity_power": 400.0}, {"ensemble_memory": 0.0}],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_of_the_graph_change_the_beliefs(changes: dict[str, float]) -> None:
    samples = tiny_samples(30, labels=torch.randint(3, (30,), generator=seeded(1)))
    weights = []
    for chosen in ({}, changes):
        method = ngc(samples, eta_low=0.999, eta_high=0.0, **chosen)
        method.averaged_logits = 4 * torch.randn(30, 3, generator=seeded(2))
        method.partition = judged([False] * 30, [0] * 30)
        method.before_epoch(1, survey_of(method, samples))
        assert method.partition is not None
        weights.append(method.partition.weights)
    assert not torch.allclose(*weights, atol=1e-5)


def test_the_average_of_the_first_epochs_is_not_drawn_to_zero() -> None:
    """With a memory of 0.6: the first logits as they are, then (0.24 of the first + 0.4 of the second) / 0.64."""
    method = ngc(tiny_samples(1), ensemble_memory=0.6)
    first, second = torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([[-1.0, 3.0, 1.0]])
    torch.testing.assert_close(method._ensemble(0, first), first.softmax(dim=1))
    both = torch.tensor([[0.08 / 0.64, 1.2 / 0.64, 0.16 / 0.64]])
    torch.testing.assert_close(method._ensemble(1, second), both.softmax(dim=1))


def test_neighbours_default_to_two_a_class_and_are_capped() -> None:
    samples = tiny_samples(20)
    default, six, all_others, too_many = (
        ngc(samples, neighbours=k, eta_low=0.99, eta_high=0.0) for k in (None, 6, 19, 999)
    )
    for method in (default, six, all_others, too_many):
        method.before_epoch(0, survey_of(method, samples))
    assert default.partition is not None and six.partition is not None
    assert all_others.partition is not None and too_many.partition is not None
    assert torch.equal(default.partition.weights, six.partition.weights)
    assert torch.equal(all_others.partition.weights, too_many.partition.weights)
    assert not torch.equal(six.partition.weights, too_many.partition.weights)


def test_phases_and_views() -> None:
    labels = (torch.arange(20) % 3).index_fill(0, torch.tensor([4]), UNLABELLED)
    samples = tiny_samples(20, labels=labels)
    for both, views in ((True, ("weak", "strong")), (False, ("weak",))):
        method = ngc(samples, mix_both_views=both)
        (phase,) = method.before_epoch(0, survey_of(method, samples))
        assert (phase.name, phase.lead, phase.streams["all"].views) == ("warm-up", 19, views)
        (phase,) = method.before_epoch(1, survey_of(method, samples))
        assert (phase.name, phase.lead, phase.streams["all"].views) == ("robust", 20, ("weak", "strong"))
        assert phase.streams["all"].indices.tolist() == list(range(20))
        assert method.partition is not None and not method.partition.clean[4]
        assert method.partition.corrected.min() >= 0


def test_nothing_trusted_means_another_warm_up() -> None:
    samples = tiny_samples(20)
    method = ngc(samples, eta_low=0.999, eta_high=0.9999)
    with pytest.warns(UserWarning, match="warming up"):
        (phase,) = method.before_epoch(3, survey_of(method, samples))
    assert phase.name == "warm-up"
    assert method.partition is None
    assert method.has_prototype.all()


@torch.no_grad()
def test_prototypes_are_unit_means_of_given_then_of_kept_samples() -> None:
    samples = tiny_samples(30, labels=(torch.arange(30) % 3).index_fill(0, torch.tensor([0]), UNLABELLED))
    method = ngc(samples)
    survey = survey_of(method, samples)
    _, embeddings = survey(method._describe)
    method.before_epoch(0, survey)
    for label in range(3):
        mean = embeddings[samples.labels == label].mean(dim=0)
        torch.testing.assert_close(method.prototypes[label], mean / mean.norm())
    method.before_epoch(1, survey)
    assert method.partition is not None
    kept, hard = ~method.partition.open, method.partition.corrected
    for label in range(3):
        mean = embeddings[kept & (hard == label)].mean(dim=0)
        torch.testing.assert_close(method.prototypes[label], mean / mean.norm())


def test_a_class_without_kept_samples_keeps_its_prototype() -> None:
    samples = tiny_samples(12)
    method = ngc(samples)
    method.before_epoch(0, survey_of(method, samples))
    before = method.prototypes.clone()
    embeddings = F.normalize(torch.randn(12, 8, generator=seeded()), dim=1)
    method._set_prototypes(embeddings, samples.labels, samples.labels == 1)
    torch.testing.assert_close(method.prototypes[[0, 2]], before[[0, 2]])
    assert not torch.allclose(method.prototypes[1], before[1])
    assert method.prototypes.isfinite().all()


def test_two_classes_one_of_a_single_sample() -> None:
    labels = torch.zeros(16, dtype=torch.long).index_fill(0, torch.tensor([5]), 1)
    samples = tiny_samples(16, classes=2, labels=labels)
    method = ngc(samples, neighbours=99)
    for epoch in (0, 1):
        (phase,) = method.before_epoch(epoch, survey_of(method, samples))
        terms = method.train().step(phase.name, first_batches(samples, phase), Clock(epoch), seeded())
        assert all(term.values.isfinite().all() for term in terms.values())
    assert method.prototypes.isfinite().all()


# Once a step


def soft_losses(method: Ngc, images: Tensor, labels: Tensor, concentration: float) -> list[float]:
    """Mixed cross-entropy by loops, with the draw that a step makes from a fresh generator."""
    mix = draw_mix(len(images), concentration, seeded(), fold=False)
    losses = []
    for i, partner in enumerate(mix.partners.tolist()):
        mixed = mix.ratio * images[i] + (1 - mix.ratio) * images[partner]
        row = method.net(mixed[None]).logits[0].double()
        log_probabilities = (row - row.logsumexp(dim=0)).tolist()
        own, other = int(labels[i]), int(labels[partner])
        losses.append(-mix.ratio * log_probabilities[own] - (1 - mix.ratio) * log_probabilities[other])
    return losses


@torch.no_grad()
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("concentration", [8.0, 0.0])
def test_warm_up_equals_the_loop(both: bool, concentration: float) -> None:
    method = ngc(tiny_samples(6), mix_both_views=both, mixup=concentration).eval()
    batch = make_batch()
    views = batch.views if both else batch.views[:1]
    terms = method.step("warm-up", {"all": Batch(batch.indices, batch.labels, views)}, Clock(0), seeded())
    assert list(terms) == ["mixup"]
    expected = soft_losses(method, torch.cat(views), batch.labels.repeat(len(views)), concentration)
    np.testing.assert_allclose(terms["mixup"].values, expected, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("both", [True, False])
def test_step_after_warm_up_equals_the_loop(both: bool) -> None:
    method = ngc(
        tiny_samples(6), mix_both_views=both, temperature=0.4, subgraph_temperature=0.7, instance_weight=2.0,
        subgraph_weight=3.0,
    ).eval()  # fmt: skip
    batch = make_batch()
    kept, hard = [True, False, True, True, False, True], [2, 1, 2, 0, 1, 2]
    terms = robust_step(method, batch, kept, hard)
    mask, labels = torch.tensor(kept), torch.tensor(hard)
    views = batch.views if both else batch.views[:1]
    expected = soft_losses(
        method, torch.cat([view[mask] for view in views]), labels[mask].repeat(len(views)), method.settings.mixup
    )
    np.testing.assert_allclose(terms["mixup"].values, expected, atol=1e-5)
    first, second = (F.normalize(method.projection(method.net(view).features), dim=1) for view in batch.views)
    torch.testing.assert_close(terms["instance"].values, instance_contrastive(first, second, 0.4), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        terms["subgraph"].values, subgraph_contrastive(first, second, labels, mask, 0.7), atol=1e-5, rtol=1e-5
    )
    assert [terms[name].weight for name in ("instance", "subgraph", "mixup")] == [2.0, 3.0, 1.0]


def test_the_mix_is_not_folded() -> None:
    ratios = [draw_mix(4, 8.0, seeded(seed), fold=False).ratio for seed in range(40)]
    assert min(ratios) < 0.5 < max(ratios)


@pytest.mark.parametrize("kept", [[False] * 6, [True] + [False] * 5], ids=["none", "one"])
@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_batches_with_hardly_a_kept_sample(kept: list[bool], head: str) -> None:
    """Weak views alone: one row is too few for batch normalisation, so it is left out."""
    method = ngc(tiny_samples(6), mix_both_views=False, head=head, hidden=8, instance_weight=0.0, subgraph_weight=0.0)
    terms = robust_step(method.train(), make_batch(), kept, [0] * 6)
    assert list(terms) == ["mixup"]
    assert terms["mixup"].values.abs().max() == 0
    terms["mixup"].values.mean().backward()
    assert all(parameter.grad is not None for parameter in method.net.parameters())


def test_terms_can_be_switched_off_and_every_part_learns() -> None:
    samples = tiny_samples(6)
    names = {}
    for off in ("instance", "subgraph"):
        terms = robust_step(ngc(samples, **{f"{off}_weight": 0.0}).train(), make_batch(), [True] * 6, [0, 1, 2] * 2)
        names[off] = set(terms)
    assert names == {"instance": {"subgraph", "mixup"}, "subgraph": {"instance", "mixup"}}
    method = ngc(samples).train()
    terms = robust_step(method, make_batch(), [True] * 6, [0, 1, 2] * 2)
    torch.stack([term.values.mean() for term in terms.values()]).sum().backward()
    assert all(parameter.grad is not None for parameter in method.parameters())


# At inference


@torch.no_grad()
def test_scores_are_msp_and_then_the_distance_to_the_nearest_prototype() -> None:
    samples = tiny_samples(12)
    method = ngc(samples).eval()
    images = torch.randn(5, 1, 8, 8, generator=seeded())
    out = method.predict(images)
    torch.testing.assert_close(out.scores, 1 - out.probabilities.amax(dim=1))
    method.before_epoch(0, survey_of(method, samples))
    method.eval()
    out = method.predict(images)
    embeddings = F.normalize(method.projection(out.features), dim=1)
    for i in range(5):
        cosines = [float(embeddings[i] @ prototype) for prototype in method.prototypes]
        assert out.scores[i].item() == pytest.approx(1 - max(cosines), abs=1e-5)
    # A class that never had a sample attracts nothing.
    method.has_prototype[:2] = False
    torch.testing.assert_close(method.predict(images).scores, 1 - embeddings @ method.prototypes[2])


def test_state_fits_a_method_without_labels() -> None:
    samples = tiny_samples(12)
    method = ngc(samples).eval()
    method.before_epoch(0, survey_of(method, samples))
    task = tiny_task(samples)
    fresh = Ngc(method.settings, Task(task.labels[:0], task.num_classes, task.build_backbone))
    fresh.load_state_dict(method.state_dict())
    fresh.load_extra_state(method.extra_state())
    images = torch.randn(5, 1, 8, 8, generator=seeded())
    with torch.no_grad():
        assert torch.equal(fresh.eval().predict(images).scores, method.eval().predict(images).scores)
    assert torch.equal(fresh.averaged_logits, method.averaged_logits)


@pytest.mark.parametrize(
    "wrong",
    [
        {"warmup_epochs": -1}, {"neighbours": 0}, {"eta_low": 1.0}, {"eta_low": -0.1}, {"eta_high": 1.0},
        {"ensemble_memory": 1.0}, {"propagation": 1.0}, {"similarity_power": 0.0}, {"mixup": -1.0},
        {"temperature": 0.0}, {"subgraph_temperature": 0.0}, {"instance_weight": -1.0}, {"subgraph_weight": -1.0},
        {"embedding_size": 0}, {"hidden": 0}, {"eta_high": math.nan},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        NgcSettings(**wrong)


def test_settings_at_their_ends_are_allowed() -> None:
    nothing = dict.fromkeys(
        ("mixup", "instance_weight", "subgraph_weight", "eta_low", "eta_high", "ensemble_memory", "propagation"), 0.0
    )
    settings = NgcSettings(warmup_epochs=0, neighbours=1, embedding_size=1, **nothing)
    assert (settings.warmup_epochs, settings.mixup, settings.eta_low) == (0, 0, 0)
