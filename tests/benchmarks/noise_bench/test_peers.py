from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.made_up import task
from benchmarks.noise_bench.opinion import Task
from benchmarks.noise_bench.peers import (
    cleanlab,
    distance,
    plain_neighbours,
    plain_out_of_fold,
    regression_probabilities,
    selfclean,
    simifeat,
)
from sklearn.metrics import roc_auc_score

from lond.crossfit.features import learn_preparation
from lond.crossfit.folds import FOLDS, fold_of


def distances(one: Task) -> np.ndarray:
    """Return cosine distances among prepared features, pair by pair; an image is infinitely far from itself."""
    features = torch.from_numpy(one.features)
    rows = learn_preparation(features)(features).double().numpy()
    found = np.full((len(rows), len(rows)), np.inf)
    for a in range(len(rows)):
        for b in range(len(rows)):
            if a != b:
                found[a, b] = 1 - rows[a] @ rows[b] / np.sqrt((rows[a] @ rows[a]) * (rows[b] @ rows[b]))
    return found


def test_simifeat_votes_with_ten_neighbours_and_the_image_itself() -> None:
    one, _ = task()
    found = simifeat(one)
    for at, away in enumerate(distances(one)):
        labels = [*one.given[np.argsort(away)[:10]], one.given[at]]
        votes = [labels.count(own) for own in range(3)]
        assert found.wrong is not None and found.wrong_score is not None
        assert found.wrong[at] == (votes.index(max(votes)) != one.given[at])
        assert found.wrong_score[at] == pytest.approx(1 - votes[one.given[at]] / np.sqrt(sum(v * v for v in votes)))


def test_plain_neighbours_count_other_labels_among_twenty() -> None:
    one, _ = task()
    found = plain_neighbours(one)
    for at, away in enumerate(distances(one)):
        labels = list(one.given[np.argsort(away)[:20]])
        shares = [labels.count(own) / 20 for own in range(3)]
        assert found.wrong_score is not None and found.foreign_score is not None
        assert found.wrong_score[at] == pytest.approx(1 - shares[one.given[at]])
        assert found.foreign_score[at] == pytest.approx(1 - sum(share**2 for share in shares))


def test_selfclean_compares_the_nearest_of_both_kinds() -> None:
    one, _ = task()
    found = selfclean(one, chunk=7).wrong_score
    assert found is not None
    for at, away in enumerate(distances(one)):
        near, other = away[one.given == one.given[at]].min(), away[one.given != one.given[at]].min()
        assert found[at] == pytest.approx(near**2 / (near**2 + other**2), abs=1e-4)


def test_selfclean_doubts_an_image_alone_with_its_label() -> None:
    one, _ = task(classes=2, each=10, wrong=0)
    found = selfclean(Task(one.features, np.where(np.arange(20) == 3, 1, 0), 2, one.test_features)).wrong_score
    assert found is not None and found.argmax() == 3


def test_distance_is_the_mean_over_ten_neighbours() -> None:
    one, _ = task()
    expected = np.sort(distances(one), axis=1)[:, :10].mean(axis=1)
    assert distance(one).foreign_score == pytest.approx(expected, abs=1e-5)


def test_out_of_fold_disagreement_finds_wrong_labels_and_classifies() -> None:
    one, true = task(each=60)
    found = plain_out_of_fold(one)
    assert roc_auc_score(one.given != true, found.wrong_score) > 0.95
    assert found.tested is not None and (found.tested.predicted == true).mean() > 0.9


def test_folds_are_even_in_every_label() -> None:
    one, _ = task(each=50)
    folds = fold_of(torch.from_numpy(one.given), FOLDS, 0).numpy()
    for own in range(3):
        counts = np.bincount(folds[one.given == own], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_cleanlab_says_what_the_package_says() -> None:
    package = pytest.importorskip("cleanlab", reason="cleanlab is not installed: pip install 'lond[bench]'")
    one, true = task(each=60)
    found, chances = cleanlab(one), regression_probabilities(one)
    issues = package.filter.find_label_issues(one.given, chances, n_jobs=1)
    assert found.wrong is not None and (found.wrong == issues).all()
    assert found.wrong_score == pytest.approx(1 - chances[np.arange(len(true)), one.given])
    assert roc_auc_score(one.given != true, found.wrong_score) > 0.95


def test_regression_probabilities_are_out_of_fold_and_sum_to_one() -> None:
    one, _ = task(wrong=0.0)
    chances = regression_probabilities(one)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert (chances.argmax(axis=1) == one.given).mean() > 0.9
