"""The whole identification (Eq. 7-12) against loops, its invariants, its edges and what it refuses."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import identify as ref

from lond.errors import ConfigError, DataError
from lond.identify import neighbours as neighbours_module
from lond.identify.neighbour_margin import neighbour_margin
from lond.identify.partition import IdentifySettings, identify, sample_weights, uniformly_clean
from lond.losses import jensen_shannon_to_label
from lond.types import UNLABELLED, Partition

SMALL = IdentifySettings(neighbours=5)


def random_case(
    rows: int, classes: int, seed: int = 0, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, positives and embeddings: clusters by true class, 30 % wrong labels, 10 % of no class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    labels = np.where(rng.random(rows) < 0.3, rng.integers(classes, size=rows), truth)
    labels[rng.random(rows) < missing] = UNLABELLED
    centres = rng.normal(size=(classes, 6))
    embeddings = centres[truth] + 0.7 * rng.normal(size=(rows, 6))
    log_odds = rng.normal(size=(rows, classes)) - 2
    log_odds[np.arange(rows), truth] += np.where(rng.random(rows) < 0.1, 0, 4)
    return labels, 1 / (1 + np.exp(-log_odds)), embeddings


def check_partition(partition: Partition, labels: np.ndarray) -> None:
    parts = torch.stack([partition.clean, partition.closed, partition.open]).long()
    assert (parts.sum(dim=0) == 1).all()
    w = partition.weights
    assert w.isfinite().all()
    assert (w[partition.clean] == 1).all()
    assert (w[partition.open] == 0).all()
    assert ((w[partition.closed] > 0) & (w[partition.closed] <= 1)).all()
    if partition.closed.any():
        assert w[partition.closed].max() == 1
    given = torch.as_tensor(labels)
    kept = (given >= 0) & ~partition.closed
    assert torch.equal(partition.corrected[kept], given[kept])
    assert (partition.corrected >= 0).all()
    assert not partition.clean[given < 0].any()


CASES = [
    {"k": 5, "top": 3, "alpha_id": "0.9", "alpha_ood": "0.1", "tau": 0.1, "include_self": True},
    {"k": 5, "top": 1, "alpha_id": "0.5", "alpha_ood": "0.29", "tau": 0.1, "include_self": False},
    {"k": 1, "top": 2, "alpha_id": "0.3", "alpha_ood": "0.5", "tau": 1.0, "include_self": False},
    {"k": 1000, "top": 1000, "alpha_id": "1", "alpha_ood": "0", "tau": 0.05, "include_self": True},
    {"k": 1000, "top": 1, "alpha_id": "0", "alpha_ood": "1", "tau": 0.1, "include_self": False},
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("rows", "classes", "missing"), [(60, 4, 0.0), (60, 2, 0.2), (40, 10, 0.1), (2, 2, 0.0)])
def test_equals_reference(case: dict, rows: int, classes: int, missing: float) -> None:
    labels, positives, embeddings = random_case(rows, classes, missing=missing)
    expected = ref.identify(labels.tolist(), positives, embeddings, **case)
    settings_ = IdentifySettings(
        neighbours=case["k"],
        top=case["top"],
        clean_quantile=float(case["alpha_id"]),
        open_share=float(case["alpha_ood"]),
        temperature=case["tau"],
        include_self=case["include_self"],
    )
    got = identify(labels, positives, embeddings, settings_)
    check_partition(got, labels)
    for name in ("clean", "closed", "open", "corrected"):
        np.testing.assert_array_equal(getattr(got, name), expected[name], err_msg=name)
    for name in ("weights", "neighbour_margin", "negative_margin"):
        np.testing.assert_allclose(getattr(got, name), expected[name], atol=2e-6, err_msg=name)


def test_weights_where_all_neighbours_are_sure_of_another_class() -> None:
    closed = torch.tensor([False, True, True])
    assert sample_weights(torch.tensor([1.0, -1.0, 0.0]), ~closed, closed).tolist() == [1, 0, 1]
    assert sample_weights(torch.tensor([1.0, -1.0, -1.0]), ~closed, closed).tolist() == [1, 0, 0]


def test_the_released_program_does_not_clip_the_weights() -> None:
    votes = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert neighbour_margin(votes, torch.tensor([1, 0]), 1, clip=False).tolist() == [-1, -1]
    assert neighbour_margin(votes, torch.tensor([1, 0]), 1).tolist() == pytest.approx([-0.99, -0.99])
    labels, positives, embeddings = random_case(60, 3)
    new, old = (identify(labels, positives**4, embeddings, SMALL, clip_weights=clip) for clip in (False, True))
    assert (new.weights <= old.weights + 1e-6).all() and not torch.equal(new.weights, old.weights)


def test_by_hand() -> None:
    """Two tight clusters; sample 2 carries the wrong label, sample 5 belongs nowhere."""
    embeddings = np.array([[1, 0], [1, 0.01], [1, 0.02], [0, 1], [0.01, 1], [-1, -1]], dtype=float)
    positives = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.1, 0.1]])
    labels = np.array([0, 0, 1, 1, 1, 0])
    got = identify(labels, positives, embeddings, IdentifySettings(2, top=1, clean_quantile=1.0, open_share=0.5))
    assert got.names() == ["clean", "clean", "closed", "clean", "clean", "open"]
    assert got.corrected.tolist() == [0, 0, 0, 1, 1, 0]
    assert got.weights.tolist() == [1, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(got.neighbour_margin[:4], [0.8, 0.8, -0.8, 0.8], atol=1e-6)
    np.testing.assert_allclose(got.negative_margin, [0.8, 0.8, 0.8, 0.8, 0.8, 0.0], atol=1e-6)


def test_weights_by_hand() -> None:
    clean = torch.tensor([True, False, False, False])
    closed = torch.tensor([False, True, True, False])
    got = sample_weights(torch.tensor([0.9, -0.5, -0.2, 0.8]), clean, closed)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, [1, 0.5 / 0.8, 1, 0], atol=1e-7)


def test_weights_without_closed_noise() -> None:
    clean = torch.tensor([True, False])
    assert sample_weights(torch.tensor([0.1, 0.2]), clean, torch.zeros(2).bool()).tolist() == [1, 0]


def test_weights_use_the_single_best_other_class() -> None:
    """At K = 3 the margin against the mean of three is another number."""
    labels, positives, embeddings = random_case(60, 5)
    three = identify(labels, positives, embeddings, IdentifySettings(5, top=3, clean_quantile=0.5))
    one = identify(labels, positives, embeddings, IdentifySettings(5, top=1, clean_quantile=0.5))
    closed = three.closed
    single = one.neighbour_margin[closed] + 1
    np.testing.assert_allclose(three.weights[closed], single / single.max(), atol=1e-6)
    assert not torch.allclose(three.neighbour_margin[closed], one.neighbour_margin[closed], atol=1e-3)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(1, 40), st.integers(2, 6), st.integers(1, 50), st.integers(1, 8),
    st.integers(0, 20), st.integers(0, 20), st.booleans(), st.integers(0, 10**6),
)  # fmt: skip
def test_is_a_partition(
    rows: int, classes: int, k: int, top: int, quantile: int, share: int, include_self: bool, seed: int
) -> None:
    labels, positives, embeddings = random_case(rows, classes, seed, missing=0.15)
    chosen = IdentifySettings(k, top, quantile / 20, share / 20, include_self=include_self)
    got = identify(labels, positives, embeddings, chosen)
    check_partition(got, labels)
    sizes = [int(got.clean[torch.tensor(labels == c)].sum()) for c in range(classes)]
    full = [int((labels == c).sum()) for c in range(classes)]
    quota = max(sizes)
    assert all(size == min(quota, whole) for size, whole in zip(sizes, full, strict=True))
    assert int(got.open.sum()) == share * int((~got.clean).sum()) // 20


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(2, 40), st.integers(2, 6), st.integers(0, 10**6))
def test_the_order_of_the_samples_does_not_matter(rows: int, classes: int, seed: int) -> None:
    labels, positives, embeddings = random_case(rows, classes, seed, missing=0.1)
    order = np.random.default_rng(seed).permutation(rows)
    plain = identify(labels, positives, embeddings, SMALL)
    moved = identify(labels[order], positives[order], embeddings[order], SMALL)
    if len(plain.neighbour_margin.unique()) < rows or len(plain.negative_margin.unique()) < rows:
        return  # ties go by index
    for name in ("clean", "closed", "open", "corrected"):
        assert torch.equal(getattr(moved, name), getattr(plain, name)[order])
    np.testing.assert_allclose(moved.weights, plain.weights[order], atol=1e-5)


def test_the_order_of_the_classes_does_not_matter() -> None:
    labels, positives, embeddings = random_case(60, 4)
    renamed = np.array([2, 0, 3, 1])
    swapped = np.empty_like(positives)
    swapped[:, renamed] = positives
    plain = identify(labels, positives, embeddings, SMALL)
    got = identify(renamed[labels], swapped, embeddings, SMALL)
    assert torch.equal(got.clean, plain.clean)
    assert torch.equal(got.open, plain.open)
    assert torch.equal(got.corrected, torch.tensor(renamed)[plain.corrected])


def test_embeddings_are_normalised() -> None:
    labels, positives, embeddings = random_case(50, 3)
    lengths = np.random.default_rng(0).uniform(0.1, 50, size=(50, 1))
    plain, scaled = (identify(labels, positives, x, SMALL) for x in (embeddings, embeddings * lengths))
    assert torch.equal(plain.clean, scaled.clean)
    np.testing.assert_allclose(plain.weights, scaled.weights, atol=1e-5)


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, positives, embeddings = random_case(50, 3)
    whole = identify(labels, positives, embeddings, SMALL)
    monkeypatch.setattr(neighbours_module, "BLOCK_BYTES", 4 * 50 * 7)
    blocks = identify(labels, positives, embeddings, SMALL)
    for name in ("clean", "closed", "open", "corrected"):
        assert torch.equal(getattr(whole, name), getattr(blocks, name))


def test_runs_twice_alike_with_duplicates() -> None:
    labels = np.arange(60) % 3
    positives = np.full((60, 3), 0.5)
    embeddings = np.ones((60, 4))
    first, again = (identify(labels, positives, embeddings, SMALL) for _ in range(2))
    check_partition(first, labels)
    assert first.names() == again.names()


class TestEdges:
    @pytest.mark.parametrize("include_self", [True, False])
    @pytest.mark.parametrize("label", [0, 1, UNLABELLED])
    def test_one_sample(self, include_self: bool, label: int) -> None:
        settings_ = IdentifySettings(include_self=include_self, clean_quantile=1.0, open_share=1.0)
        labels = np.array([label])
        got = identify(labels, np.array([[0.8, 0.1]]), np.ones((1, 3)), settings_)
        check_partition(got, labels)
        assert got.clean.item() == (label == 0)

    def test_all_clean(self) -> None:
        labels = np.repeat([0, 1], 10)
        positives = np.eye(2)[labels] * 0.8 + 0.1
        got = identify(labels, positives, np.eye(2)[labels], IdentifySettings(5, clean_quantile=1.0))
        assert got.clean.all()
        assert (got.weights == 1).all()
        assert got.names() == ["clean"] * 20

    def test_open_share_zero_and_one(self) -> None:
        labels, positives, embeddings = random_case(60, 4)
        none = identify(labels, positives, embeddings, dataclasses.replace(SMALL, clean_quantile=0.3, open_share=0.0))
        every = identify(labels, positives, embeddings, dataclasses.replace(SMALL, clean_quantile=0.3, open_share=1.0))
        assert not none.open.any()
        assert none.closed.any()
        assert not every.closed.any()
        assert torch.equal(every.open, ~every.clean)
        check_partition(none, labels)
        check_partition(every, labels)

    def test_classes_of_one_image_and_of_none(self) -> None:
        labels, positives, embeddings = random_case(40, 3)
        labels = np.where(labels == 2, 0, labels)
        labels[7] = 2
        got = identify(labels, np.hstack([positives, positives[:, :1] / 2]), embeddings, SMALL)
        check_partition(got, labels)
        assert got.clean[7]

    def test_nothing_labelled(self) -> None:
        _, positives, embeddings = random_case(30, 3)
        got = identify(np.full(30, UNLABELLED), positives, embeddings, SMALL)
        assert not got.clean.any()
        assert (got.corrected >= 0).all()
        check_partition(got, np.full(30, UNLABELLED))

    def test_all_positives_zero_or_one(self) -> None:
        labels, _, embeddings = random_case(30, 3)
        for value in (0.0, 1.0):
            check_partition(identify(labels, np.full((30, 3), value), embeddings, SMALL), labels)

    def test_embeddings_of_length_zero(self) -> None:
        labels, positives, _ = random_case(30, 3)
        check_partition(identify(labels, positives, np.zeros((30, 4)), SMALL), labels)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    def test_other_precisions(self, dtype: torch.dtype) -> None:
        labels, positives, embeddings = random_case(30, 3)
        got = identify(labels, torch.tensor(positives).to(dtype), torch.tensor(embeddings).to(dtype), SMALL)
        check_partition(got, labels)
        assert got.weights.dtype == torch.float32

    def test_inputs_are_left_alone_and_no_gradient_is_kept(self) -> None:
        labels, positives, embeddings = (torch.tensor(x) for x in random_case(30, 3))
        p, z = positives.float().requires_grad_(), embeddings.float().requires_grad_()
        before = labels.clone(), p.detach().clone(), z.detach().clone()
        got = identify(labels, p, z, SMALL)
        assert not any(value.requires_grad for value in got.state_dict().values())
        assert all(torch.equal(a, b) for a, b in zip(before, (labels, p.detach(), z.detach()), strict=True))

    def test_survives_its_state_dict(self) -> None:
        labels, positives, embeddings = random_case(30, 3)
        got = identify(labels, positives, embeddings, SMALL)
        again = Partition.from_state_dict(got.state_dict())
        assert again.names() == got.names()
        assert torch.equal(again.weights, got.weights)

    def test_small_probabilities_keep_their_order(self) -> None:
        """Eq. 10 is |p_y - min p_c| in the positives; late in training these are far below 1e-7."""
        positives = np.array([[1e-9, 1e-12, 0.9]] + [[1e-11, 1e-12, 0.9]] * 3)
        settings_ = IdentifySettings(neighbours=1, clean_quantile=0.0, open_share=0.75)
        got = identify(np.zeros(4, dtype=int), positives, np.eye(4), settings_)
        assert got.open.tolist() == [False, True, True, True]


def slow_divergence(positives: np.ndarray, label: int) -> float:
    """Jensen-Shannon, in bits, of the normalised row from the one-hot label, class by class."""
    total = math.fsum(positives)
    divergence = 0.0
    for index, positive in enumerate(positives):
        p, q = (positive / total if total > 0 else 0.0), float(index == label)
        middle = (p + q) / 2
        divergence += sum(x * math.log2(x / middle) / 2 for x in (p, q) if x > 0)
    # A row of zeros is no distribution; it is as far from a label as can be.
    return divergence if total > 0 else 1.0


def slow_uniform(positives: np.ndarray, labels: list[int]) -> list[bool]:
    """UNICON's selection, sample by sample; divergences of unlabelled samples are asked of nobody."""
    classes = positives.shape[1]
    far = {i: slow_divergence(positives[i], y) for i, y in enumerate(labels) if y >= 0}
    clean = [False] * len(labels)
    if not far:
        return clean
    mean = math.fsum(far.values()) / len(far)
    cutoff = mean - (mean - min(far.values())) / 5 if mean > 0.7 else mean
    below = sum(d < cutoff for d in far.values())
    quota = max(1, math.floor(Fraction(below, classes))) if below else 0
    for c in range(classes):
        for i in sorted((i for i in far if labels[i] == c), key=lambda i: (far[i], i))[:quota]:
            clean[i] = True
    return clean


UNIFORM = dataclasses.replace(SMALL, selection="uniform")


class TestUniformSelection:
    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize(("rows", "classes", "missing"), [(60, 4, 0.0), (60, 2, 0.2), (40, 10, 0.1), (2, 2, 0.0)])
    def test_equals_reference(self, case: dict, rows: int, classes: int, missing: float) -> None:
        labels, positives, embeddings = random_case(rows, classes, missing=missing)
        given_ = labels.tolist()
        clean = slow_uniform(positives, given_)
        z = np.array([row / math.sqrt(math.fsum(row * row)) for row in embeddings])
        q = ref.neighbour_labels(z, ref.neighbours(z, case["k"], case["include_self"]), positives, case["tau"])
        vote = q.argmax(axis=1).tolist()
        negative = ref.negative_margin(positives, [y if y >= 0 else v for y, v in zip(given_, vote, strict=True)])
        is_open = ref.select_open(negative, clean, case["alpha_ood"])
        settings_ = IdentifySettings(
            case["k"], case["top"], float(case["alpha_id"]), float(case["alpha_ood"]), case["tau"],
            case["include_self"], "uniform",
        )  # fmt: skip
        got = identify(labels, positives, embeddings, settings_)
        check_partition(got, labels)
        assert got.clean.tolist() == clean
        assert got.open.tolist() == is_open
        np.testing.assert_allclose(got.weights, ref.weights(q, given_, clean, is_open), atol=2e-6)
        np.testing.assert_allclose(got.neighbour_margin, ref.neighbour_margin(q, given_, case["top"]), atol=2e-6)
        np.testing.assert_allclose(got.negative_margin, negative, atol=2e-6)
        corrected = [v if c or y < 0 else y for y, v, c in zip(given_, vote, got.closed.tolist(), strict=True)]
        assert got.corrected.tolist() == corrected

    def test_by_hand(self) -> None:
        """Normalised, the labels' shares are .9, .8, .1 (class 0) and .5, .2 (class 1): three are below the mean."""
        positives = torch.tensor([[0.9, 0.1], [0.4, 0.1], [0.1, 0.9], [0.3, 0.3], [0.8, 0.2]])
        labels = torch.tensor([0, 0, 0, 1, 1])
        shares = torch.tensor([0.9, 0.8, 0.1, 0.5, 0.2])
        divergences = jensen_shannon_to_label(shares)
        assert (divergences < divergences.mean()).tolist() == [True, True, False, True, False]
        assert uniformly_clean(positives, labels).tolist() == [True, False, False, True, False]

    def test_a_mean_above_the_limit_lowers_the_cutoff(self) -> None:
        shares = torch.tensor([0.6] + [0.1] * 7 + [0.02] * 8)
        positives, labels = torch.stack([shares, 1 - shares], dim=1), torch.zeros(16, dtype=torch.long)
        divergences = jensen_shannon_to_label(shares)
        assert divergences.mean() > 0.7
        # Eight lie below the mean, which would make a quota of four, but only one below the lowered cut-off.
        assert int((divergences < divergences.mean()).sum()) == 8
        assert uniformly_clean(positives, labels).tolist() == [True] + [False] * 15

    def test_the_open_set_is_filtered_from_what_is_left(self) -> None:
        labels, positives, embeddings = random_case(60, 4)
        got = identify(labels, positives, embeddings, dataclasses.replace(UNIFORM, open_share=0.3))
        assert int(got.open.sum()) == 3 * int((~got.clean).sum()) // 10

    def test_it_is_another_selection_than_the_paper_s(self) -> None:
        labels, positives, embeddings = random_case(80, 4)
        uniform = identify(labels, positives, embeddings, UNIFORM)
        assert not torch.equal(uniform.clean, identify(labels, positives, embeddings, SMALL).clean)
        assert torch.equal(uniform.neighbour_margin, identify(labels, positives, embeddings, SMALL).neighbour_margin)

    def test_the_quantile_plays_no_part(self) -> None:
        labels, positives, embeddings = random_case(60, 4)
        low, high = (
            identify(labels, positives, embeddings, dataclasses.replace(UNIFORM, clean_quantile=q)) for q in (0.0, 1.0)
        )
        assert torch.equal(low.clean, high.clean)

    def test_nothing_labelled(self) -> None:
        _, positives, embeddings = random_case(30, 3)
        labels = np.full(30, UNLABELLED)
        got = identify(labels, positives, embeddings, UNIFORM)
        assert not got.clean.any()
        check_partition(got, labels)

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_no_sample_better_than_another_leaves_none_clean(self, value: float) -> None:
        labels, _, embeddings = random_case(30, 3)
        got = identify(labels, np.full((30, 3), value), embeddings, UNIFORM)
        check_partition(got, labels)
        assert not got.clean.any()

    def test_one_sample(self) -> None:
        got = identify(np.array([0]), np.array([[0.8, 0.1]]), np.ones((1, 3)), UNIFORM)
        check_partition(got, np.array([0]))


class TestRefusals:
    def test_an_unknown_selection(self) -> None:
        with pytest.raises(ConfigError, match="'small-loss' is unknown; use neighbour-margin or uniform"):
            IdentifySettings(selection="small-loss")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "changes",
        [
            {"neighbours": 0},
            {"top": 0},
            {"clean_quantile": -0.1},
            {"clean_quantile": 1.1},
            {"clean_quantile": float("nan")},
            {"open_share": 1.1},
            {"temperature": 0.0},
            {"temperature": -1.0},
            {"temperature": float("nan")},
        ],
    )
    def test_settings_out_of_range(self, changes: dict) -> None:
        with pytest.raises(ConfigError):
            IdentifySettings(**changes)

    @pytest.mark.parametrize(
        ("labels", "positives", "embeddings", "message"),
        [
            ([0, 1], [[0.5, 0.5]], [[1.0], [1.0]], "lengths differ"),
            ([], np.zeros((0, 2)), np.zeros((0, 3)), "zero"),
            ([[0]], [[0.5, 0.5]], [[1.0]], "need labels"),
            ([0], [[0.5]], [[1.0]], "at least two"),
            ([2], [[0.5, 0.5]], [[1.0]], "outside"),
            ([0], [[np.nan, 0.5]], [[1.0]], "finite"),
            ([0], [[0.5, 0.5]], [[np.inf]], "finite"),
            ([0], [[1.5, 0.5]], [[1.0]], "probabilities"),
            ([0], [[-0.1, 0.5]], [[1.0]], "probabilities"),
        ],
    )
    def test_bad_data(self, labels: list, positives: list, embeddings: list, message: str) -> None:
        with pytest.raises(DataError, match=message):
            identify(np.array(labels), np.array(positives), np.array(embeddings))


def test_defaults_are_the_papers_for_symmetric_noise() -> None:
    found = IdentifySettings()
    assert (found.neighbours, found.top, found.temperature, found.include_self) == (200, 3, 0.1, True)
    assert (found.clean_quantile, found.open_share, found.selection) == (0.9, 0.1, "neighbour-margin")
