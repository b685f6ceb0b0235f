"""Other tools and plain rules on the same features, labels, folds and neighbours."""

from __future__ import annotations

import numpy as np
import torch
from benchmarks.noise_bench.noise import unit
from benchmarks.noise_bench.opinion import FALSE_ALARMS, Flags, Numbers, Opinion, Task, Tested
from benchmarks.noise_bench.sources import Ints
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from lond.crossfit.evidence import NEIGHBOURS, energy
from lond.crossfit.features import learn_preparation
from lond.crossfit.folds import FOLDS, fold_of
from lond.crossfit.heads import fit_softmax
from lond.crossfit.opinions import fit_scale
from lond.identify.neighbours import Neighbours, nearest_neighbours

SIMIFEAT_NEIGHBOURS = 10
DISTANCE_NEIGHBOURS = 10
INVERSE_PENALTY = 0.001
"""Of 1, .01, .001 and .0001 the one with the best AUROC and F1 in the TUNE cells people10 and uniform20+f10."""
ITERATIONS = 1000


def cleanlab(task: Task) -> Opinion:
    """Return cleanlab's label issues and out-of-distribution scores on probabilities of a logistic regression.

    Its regression sees standardised features; flagged images are left out of the corrected set.
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.outlier import OutOfDistribution
    from cleanlab.rank import get_label_quality_scores

    chances = regression_probabilities(task)
    wrong = np.asarray(find_label_issues(task.given, chances, n_jobs=1))
    typical = OutOfDistribution().fit_score(pred_probs=chances, labels=task.given, verbose=False)
    return Opinion(
        wrong_score=1 - get_label_quality_scores(task.given, chances),
        wrong=wrong,
        foreign_score=1 - np.asarray(typical),
        labels=task.given,
        kept=~wrong,
    )


def regression_probabilities(task: Task) -> Numbers:
    """Return out-of-fold probabilities ``(N, C)`` of scikit-learn's logistic regression, run until it converges."""
    folds = fold_of(torch.from_numpy(task.given), FOLDS, task.seed).numpy()
    found = np.full((len(folds), task.classes), 1e-9)
    for fold in np.unique(folds):
        seen, held = folds != fold, folds == fold
        scale = StandardScaler().fit(task.features[seen])
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=ITERATIONS)
        model.fit(scale.transform(task.features[seen]), task.given[seen])
        found[np.ix_(held, model.classes_)] = model.predict_proba(scale.transform(task.features[held]))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def simifeat(task: Task) -> Opinion:
    """Return SimiFeat's vote: flagged where the majority of 10 neighbours and the image itself says another class.

    The score is one minus the cosine between the votes and the given label.
    """
    places = _places(task)[:, :SIMIFEAT_NEIGHBOURS]
    votes = _votes(np.concatenate([task.given[places], task.given[:, None]], axis=1), task.classes)
    own = votes[np.arange(len(votes)), task.given]
    return _dropping(task, 1 - own / np.linalg.norm(votes, axis=1), votes.argmax(axis=1) != task.given)


def plain_neighbours(task: Task) -> Opinion:
    """Return the share of 20 neighbours with another label; flagged where their majority differs.

    The foreign score is the scatter of their labels, one minus the sum of squared shares.
    """
    places = _places(task)
    votes = _votes(task.given[places], task.classes) / places.shape[1]
    own = votes[np.arange(len(votes)), task.given]
    scatter = 1 - (votes**2).sum(axis=1)
    return _dropping(task, 1 - own, votes.argmax(axis=1) != task.given, scatter)


def distance(task: Task) -> Opinion:
    """Return the mean cosine distance to 10 neighbours as a foreign score."""
    return Opinion(foreign_score=1 - _near(task, DISTANCE_NEIGHBOURS).similarities.mean(dim=1).numpy())


def selfclean(task: Task, chunk: int = 1000) -> Opinion:
    """Return SelfClean's score of label errors; it flags nothing by itself.

    It compares the squared cosine distances to the nearest image of the same label and of another label.
    """
    features = unit(_prepared(task).numpy())
    found = np.empty(len(features))
    for start in range(0, len(features), chunk):
        away = 1 - features[start : start + chunk] @ features.T
        rows = np.arange(len(away))
        same = task.given[start : start + chunk, None] == task.given[None]
        away[rows, start + rows] = np.inf
        near, other = np.where(same, away, np.inf).min(axis=1), np.where(same, np.inf, away).min(axis=1)
        # An image alone with its label is as far from its class as can be.
        near = np.where(np.isfinite(near), near, 2)
        found[start : start + chunk] = near**2 / np.maximum(near**2 + other**2, 1e-12)
    return Opinion(wrong_score=found)


def plain_out_of_fold(task: Task) -> Opinion:
    """Return the disagreement of a softmax regression that did not see the image; its energy as foreign score.

    On test images it is the regression on the noisy labels, with the threshold that the share FALSE_ALARMS of all
    out-of-fold training images exceeds.
    """
    prepare = learn_preparation(torch.from_numpy(task.features))
    features, given = prepare(torch.from_numpy(task.features)), torch.from_numpy(task.given)
    targets = torch.eye(task.classes)[given]
    folds = fold_of(given, FOLDS, task.seed)
    heads = fit_softmax(features, targets, folds)
    logits = heads.unseen(features, folds)
    chances = torch.softmax(logits * fit_scale(logits, given), dim=1)
    own = chances.gather(1, given[:, None]).squeeze(1)
    foreign = energy(logits)
    told = heads.last(prepare(torch.from_numpy(task.test_features)))
    tested = Tested(
        told.argmax(dim=1).numpy(),
        energy(told).numpy(),
        (energy(told) > foreign.quantile(1 - FALSE_ALARMS)).numpy(),
    )
    wrong = (chances.argmax(dim=1) != given).numpy()
    return _dropping(task, (1 - own).numpy(), wrong, foreign.numpy(), tested)


def _dropping(
    task: Task, score: Numbers, wrong: Flags, foreign: Numbers | None = None, tested: Tested | None = None
) -> Opinion:
    """Return an opinion whose corrected set leaves out the flagged images."""
    return Opinion(wrong_score=score, wrong=wrong, foreign_score=foreign, labels=task.given, kept=~wrong, tested=tested)


def _prepared(task: Task) -> torch.Tensor:
    features = torch.from_numpy(task.features)
    return learn_preparation(features)(features)


def _near(task: Task, count: int = NEIGHBOURS) -> Neighbours:
    return nearest_neighbours(torch.nn.functional.normalize(_prepared(task), dim=1), count, include_self=False)


def _places(task: Task) -> Ints:
    return _near(task).indices.numpy()


def _votes(labels: Ints, classes: int) -> Numbers:
    """Return how often each class stands in a row of labels ``(N, k)``."""
    return np.stack([(labels == own).sum(axis=1) for own in range(classes)], axis=1).astype(float)
