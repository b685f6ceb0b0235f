from __future__ import annotations

import numpy as np
import pytest
from benchmarks.made_up import clusters
from benchmarks.noise_bench.noise import corrupt, draw, labels_of_foreign, scaled_to, weak_probabilities

CLASSES = 6
TRUE = np.repeat(np.arange(CLASSES), 400)
GROUPS = np.array([0, 0, 0, 1, 1, 2])
FEATURES = clusters(TRUE, 0, spread=1.5).features


def noisy(family: str, rate: float = 0.3) -> np.ndarray:
    return corrupt(FEATURES, TRUE, CLASSES, GROUPS, family, rate, np.random.default_rng(0))


@pytest.mark.parametrize("family", ["uniform", "pair", "weak"])
def test_the_rate_is_the_one_asked_for(family: str) -> None:
    assert abs((noisy(family) != TRUE).mean() - 0.3) < 0.03


def test_uniform_noise_hits_all_other_classes_alike() -> None:
    given = noisy("uniform")
    counts = np.bincount(given[(TRUE == 0) & (given != 0)], minlength=CLASSES)
    assert counts[0] == 0 and counts[1:].min() > 10


def test_pair_noise_takes_the_next_class() -> None:
    given = noisy("pair")
    assert set((given - TRUE) % CLASSES) == {0, 1}


def test_superclass_noise_stays_in_the_group_and_spares_a_class_without_mates() -> None:
    given = noisy("superclass")
    assert (GROUPS[given] == GROUPS[TRUE]).all()
    assert (given[TRUE == 5] == 5).all()
    assert abs((given != TRUE)[TRUE < 5].mean() - 0.3) < 0.03


def test_weak_noise_falls_on_images_that_are_far_from_their_class() -> None:
    given = noisy("weak")
    centres = np.stack([FEATURES[own == TRUE].mean(axis=0) for own in range(CLASSES)])
    away = np.linalg.norm(FEATURES[:, None] - centres[None], axis=2)
    margin = away[np.arange(len(TRUE)), TRUE] - np.where(np.eye(CLASSES, dtype=bool)[TRUE], np.inf, away).min(axis=1)
    assert margin[given != TRUE].mean() > margin[given == TRUE].mean()


def test_no_noise_leaves_labels_and_an_unknown_family_is_an_error() -> None:
    assert (noisy("none") == TRUE).all() and (noisy("uniform", 0) == TRUE).all()
    with pytest.raises(ValueError, match="no family of noise 'odd'"):
        noisy("odd")


def test_scaled_chances_have_the_mean_and_keep_their_order() -> None:
    chances = np.array([0.01, 0.2, 0.5, 0.9])
    found = scaled_to(chances, 0.25)
    assert abs(found.mean() - 0.25) < 1e-6 and (np.diff(found) > 0).all()


def test_draws_follow_the_chances_and_never_take_an_impossible_class() -> None:
    drawn = draw(np.tile([0.0, 3.0, 1.0, 0.0], (4000, 1)), np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=4) / 4000
    assert shares[0] == shares[3] == 0 and abs(shares[1] - 0.75) < 0.03


def test_a_weak_model_is_better_than_chance_and_far_from_sure() -> None:
    chances = weak_probabilities(FEATURES, TRUE, CLASSES, np.random.default_rng(0))
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances.argmax(axis=1) == TRUE).mean() > 0.4


@pytest.mark.parametrize("how", ["uniform", "class", "similar"])
def test_foreign_images_get_labels_of_known_classes(how: str) -> None:
    kinds = np.repeat([7, 8], 100)
    foreign = clusters(kinds, 3).features
    random = np.random.default_rng(0)
    given = labels_of_foreign(foreign, kinds, FEATURES, TRUE, CLASSES, how, random)
    assert given.min() >= 0 and given.max() < CLASSES and len(given) == 200
    if how == "class":
        assert len(set(given[:100])) == len(set(given[100:])) == 1
