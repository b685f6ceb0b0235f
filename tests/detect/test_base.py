"""What all detectors share: the four verbs, sign, state, and what they refuse."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

from lond.detect import (
    ALL_DETECTORS,
    DETECTORS,
    Detector,
    Evidence,
    NoNetworkError,
    NotFittedError,
    register,
    trusted_only,
)
from lond.errors import ConfigError, DataError
from lond.paper.names import DETECTOR_NAMES

FITTED = [name for name, kind in DETECTORS.items() if kind.fits_on != "nothing"]
ASK_THE_NETWORK = ("react", "rankfeat", "vim", "ash", "scale", "dice")
ARRAYS_ONLY = [name for name in DETECTORS if name not in ASK_THE_NETWORK]
names = pytest.mark.parametrize("name", DETECTORS)
fitted_names = pytest.mark.parametrize("name", FITTED)


def images(rows: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def batches(network: Any) -> list[tuple[Tensor, Tensor]]:
    """Three batches whose labels are the network's predictions, the first one foreign."""
    found = []
    for seed in range(3):
        labels = network.evidence(images(40, seed)).logits.argmax(dim=1)
        labels[0] = -1
        found.append((images(40, seed), labels))
    network.passes = 0
    return found


class LastLayer:
    """A head of 5 features and 3 classes, for detectors that ask the network."""

    def head(self, features: Tensor) -> Tensor:
        weight = torch.randn(3, 5, generator=torch.Generator().manual_seed(5))
        return features.float() @ weight.T + torch.tensor([0.5, -1.0, 2.0])


def made(name: str) -> Detector:
    """Return a detector with a head if it asks for one, else without any network."""
    network: Any = LastLayer() if name in ASK_THE_NETWORK else None
    return DETECTORS[name](network)


def evidence(rows: int = 60, classes: int = 3, seed: int = 0) -> Evidence:
    random = torch.Generator().manual_seed(seed)
    features, logits = torch.randn(rows, 5, generator=random), 3 * torch.randn(rows, classes, generator=random)
    return Evidence(features, logits, logits.argmax(dim=1), class_scores=logits, embeddings=features)


def test_the_papers_are_among_them() -> None:
    assert set(DETECTOR_NAMES.values()) <= set(DETECTORS)
    assert len(set(DETECTORS.values())) == len(DETECTORS)


@names
def test_every_detector_takes_the_network_first_and_all_settings_by_name(name: str) -> None:
    first, *others = inspect.signature(DETECTORS[name]).parameters.values()
    assert (first.name, first.default) == ("network", None)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in others)
    assert (name in FITTED) == bool(DETECTORS[name].state_names)


@names
def test_from_images_and_from_evidence_are_the_same(name: str, network: Any) -> None:
    data = batches(network)
    by_images = DETECTORS[name](network).fit(iter(data))
    assert network.passes == (3 if name in FITTED else 0)
    parts = [network.evidence(x) for x, _ in data]
    whole = Evidence(
        torch.cat([p.features for p in parts]),
        torch.cat([p.logits for p in parts]),
        torch.cat([y for _, y in data]),
        embeddings=torch.cat([p.embeddings for p in parts]),
    )
    by_evidence = DETECTORS[name](network).fit_features(whole)
    scores = by_images.score(images(7, 9))
    assert scores.shape == (7,)
    assert not scores.requires_grad
    assert scores.isfinite().all()
    again = by_evidence.score_features(network.evidence(images(7, 9), maps=True))
    assert scores.tolist() == pytest.approx(again.tolist(), rel=1e-6)


@names
def test_state_is_enough_to_restore(name: str, network: Any) -> None:
    detector = DETECTORS[name](network).fit(batches(network))
    assert set(detector.state) == set(detector.state_names)
    copy = DETECTORS[name](network).load_state({key: value.clone() for key, value in detector.state.items()})
    assert torch.equal(copy.score(images(5, 8)), detector.score(images(5, 8)))
    with pytest.raises(DataError, match="is restored from"):
        DETECTORS[name]().load_state({"another": torch.zeros(1)})


@fitted_names
def test_rows_with_a_negative_label_do_not_count(name: str) -> None:
    data = evidence()
    spoilt = Evidence(
        torch.cat([data.features, torch.full((4, 5), 1e3)]),
        torch.cat([data.logits, torch.full((4, 3), 1e3)]),
        torch.cat([data.labels, torch.tensor([-1, -2, -1, -1])]),
        embeddings=torch.cat([data.embeddings, torch.full((4, 5), torch.nan)]),
    )
    clean, other = made(name).fit_features(data), made(name).fit_features(spoilt)
    for key, value in clean.state.items():
        assert torch.allclose(value, other.state[key], rtol=1e-12)


@fitted_names
def test_trusted_only_is_a_fit_on_those_rows(name: str) -> None:
    data, mask = evidence(), torch.arange(60) % 3 != 0
    part = Evidence(data.features[mask], data.logits[mask], data.labels[mask], embeddings=data.embeddings[mask])
    one, other = made(name).fit_features(trusted_only(data, mask)), made(name).fit_features(part)
    assert all(torch.equal(one.state[key], other.state[key]) for key in one.state)
    assert any(not torch.equal(one.state[key], value) for key, value in made(name).fit_features(data).state.items())


@fitted_names
def test_nothing_to_fit_on_is_said(name: str) -> None:
    data = evidence()
    with pytest.raises(DataError, match="no sample to fit"):
        made(name).fit_features(trusted_only(data, torch.zeros(60, dtype=torch.bool)))
    with pytest.raises(DataError, match="no sample to fit"):
        made(name).fit_features(Evidence(data.features, data.logits, torch.full((60,), -1)))


@fitted_names
def test_values_that_are_not_finite_are_said(name: str) -> None:
    bad = torch.full((6, 3), torch.nan)
    with pytest.raises(DataError, match="not finite"):
        made(name).fit_features(Evidence(bad, bad, torch.zeros(6, dtype=torch.long)))


@fitted_names
def test_no_batch_is_said(name: str, network: Any) -> None:
    with pytest.raises(DataError, match="no batch"):
        DETECTORS[name](network).fit([])


@fitted_names
def test_not_fitted(name: str, network: Any) -> None:
    with pytest.raises(NotFittedError, match=f"{DETECTORS[name].__name__} must be fitted"):
        DETECTORS[name](network).score_features(evidence())


@names
def test_images_need_a_network(name: str) -> None:
    with pytest.raises(NoNetworkError, match="pass network="):
        DETECTORS[name]().score(images(2))


@fitted_names
def test_fitting_on_images_needs_a_network(name: str) -> None:
    with pytest.raises(NoNetworkError, match="pass network="):
        DETECTORS[name]().fit([(images(2), torch.zeros(2, dtype=torch.long))])


@names
def test_missing_evidence_is_said(name: str, network: Any) -> None:
    detector = DETECTORS[name](network).fit(batches(network))
    with pytest.raises(ValueError, match="the evidence holds none"):
        detector.score_features(Evidence(labels=torch.zeros(3)))


@pytest.mark.parametrize("name", ARRAYS_ONLY)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_come_back_as_single_or_double(name: str, dtype: torch.dtype) -> None:
    data, queries = evidence(), evidence(9, seed=3)

    def cast(e: Evidence) -> Evidence:
        return Evidence(
            e.features.to(dtype), e.logits.to(dtype), e.labels, None, e.embeddings.to(dtype), e.class_scores.to(dtype)
        )

    full = DETECTORS[name]().fit_features(data).score_features(queries)
    scores = DETECTORS[name]().fit_features(cast(data)).score_features(cast(queries))
    assert scores.dtype in (torch.float32, torch.float64)
    assert scores.tolist() == pytest.approx(full.tolist(), rel=0.1, abs=0.1)


@pytest.mark.parametrize("name", ARRAYS_ONLY)
def test_one_row_none_and_many_are_scored_alike(name: str) -> None:
    detector = DETECTORS[name]().fit_features(evidence())
    queries = evidence(9, seed=3)
    scores = detector.score_features(queries)
    for row in range(9):
        alone = detector.score_features(trusted_only(queries, torch.arange(9) == row))
        assert float(alone) == pytest.approx(float(scores[row]), rel=1e-5, abs=1e-6)
    assert detector.score_features(trusted_only(queries, torch.zeros(9, dtype=torch.bool))).shape == (0,)


class FirstThree:
    """The last layer of the network behind ``clusters``."""

    def head(self, features: Tensor) -> Tensor:
        return features[:, :3]


@pytest.mark.parametrize("name", ["mds", "knn", "ngc-prototype", "vim", "rmds"])
def test_a_far_away_sample_is_more_foreign_by_features(name: str, clusters: tuple[Evidence, ...]) -> None:
    fit, known, foreign = clusters
    network: Any = FirstThree()
    detector = DETECTORS[name](network).fit_features(fit)
    assert detector.score_features(foreign).min() > detector.score_features(known).max()


@pytest.mark.parametrize("name", ["msp", "temp-scaling", "mls", "ebo", "react", "ash", "scale", "she", "nnguide"])
def test_an_undecided_sample_is_more_foreign_by_logits(name: str, clusters: tuple[Evidence, ...]) -> None:
    fit, known, foreign = clusters
    network: Any = FirstThree()
    detector = DETECTORS[name](network).fit_features(fit)
    assert detector.score_features(foreign).min() > detector.score_features(known).max()


# Detectors of one's own


def score(self: Detector, evidence: Evidence) -> Tensor:
    assert evidence.logits is not None
    return -evidence.logits.amax(dim=1)


def fit(self: Detector, evidence: Evidence) -> Detector:
    return self


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"fit_features": fit}, "Own has a fit_features: set its attribute fits_on"),
        ({"fits_on": "clean"}, "Own is to be fitted on 'clean' but has no fit_features"),
        ({"fits_on": "everything"}, "Own.fits_on is 'everything'; choose one of: nothing, training, clean, held-out"),
        ({"needs": ("gradients",)}, "Own.needs is .*; choose from: maps, embeddings, class_scores"),
        ({"needs": "maps"}, "Own.needs is 'maps'; choose from"),
    ],
)
def test_a_class_must_say_what_it_is_fitted_on_and_what_it_needs(content: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type("Own", (Detector,), {"score_features": score, **content})


def test_a_detector_of_ones_own_is_registered_by_name() -> None:
    own = type("Own", (Detector,), {"score_features": score, "name": "own"})
    assert register(own) is own
    assert ALL_DETECTORS["own"] is own
    with pytest.raises(ConfigError, match="lond has a detector 'msp' of its own"):
        register(type("Other", (Detector,), {"score_features": score, "name": "msp"}))
    with pytest.raises(ConfigError, match="it does not define score_features"):
        register(type("Half", (Detector,), {}))
    with pytest.raises(ConfigError, match=r"it is no subclass of lond\.detect\.Detector"):
        register(Evidence)  # type: ignore[type-var]


@names
def test_evidence_may_be_numpy_arrays(name: str) -> None:
    data = evidence()
    arrays = {part: getattr(data, part).numpy() for part in ("features", "logits", "labels", "embeddings")}
    arrays["class_scores"] = arrays["logits"]
    if name in ASK_THE_NETWORK:
        pytest.skip("asks the network about its own features")
    scores = [DETECTORS[name]().fit_features(given).score_features(given) for given in (data, Evidence(**arrays))]
    assert torch.equal(*scores)


def test_a_loader_is_scored_like_its_images() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    loader = [(images(20, seed), torch.arange(20) % 3) for seed in range(2)]
    detector = DETECTORS["knn"](model, k=2).fit(loader)
    whole = detector.score(torch.cat([batch for batch, _ in loader]))
    assert torch.allclose(detector.score(loader), whole)
    assert torch.allclose(detector.score(batch for batch, _ in loader), whole)
    assert torch.allclose(detector.score([batch.numpy() for batch, _ in loader]), whole)
    with pytest.raises(DataError, match="no batches to score"):
        detector.score([])
