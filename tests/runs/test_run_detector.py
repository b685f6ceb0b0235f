"""The score of a run: the method's own, or that of a detector, which is stored, restored and used."""

from __future__ import annotations

import pytest
import torch
from methods.tiny import tiny_samples
from runs.test_detection import config

from lond.detect import KNN, MSP, Evidence
from lond.runs import train_samples
from lond.runs.run_detector import OWN_SCORE, RunDetector, detector_of, score_images, to_cpu
from lond.train.runtime import Runtime


def test_the_methods_own_score_needs_no_detector_and_no_network() -> None:
    assert OWN_SCORE.on(lambda: pytest.fail("no network is needed")) is None
    assert str(OWN_SCORE) == "the method's own score"
    assert str(RunDetector("msp")) == "msp"
    assert str(RunDetector("knn", "clean")) == "knn, fitted on clean samples"


def test_a_detector_scores_as_it_does_by_itself() -> None:
    samples = tiny_samples(40, side=16)
    run = train_samples(config("memory", "standard"), samples).run
    network, runtime = run.method.network(), Runtime()
    images = run.views.test(torch.stack([samples.pixels.images[row] for row in range(40)]))
    fitted = KNN(network, k=5).fit([(images, samples.labels)])
    told = run.predict(samples, runtime, RunDetector("knn", "all", fitted.state))
    own = run.predict(samples, runtime)
    expected = KNN(network).load_state(fitted.state).score(images)
    assert torch.allclose(told.scores, expected, atol=1e-5)
    assert torch.equal(told.probabilities, own.probabilities) and not torch.equal(told.scores, own.scores)
    assert torch.allclose(score_images(MSP(network), images), MSP(network).score(images), atol=1e-6)


def test_stored_content_is_checked() -> None:
    state = {"bank": torch.eye(2)}
    assert detector_of({"name": "knn", "fitted_on": "all", "state": state}) == RunDetector("knn", "all", state)
    for content in (
        "knn",
        {"name": "knn"},
        {"name": 1, "fitted_on": "", "state": {}},
        {"name": "", "fitted_on": "", "state": {"a": 1}},
    ):
        with pytest.raises(TypeError):
            detector_of(content)


def test_evidence_comes_to_the_cpu_whole() -> None:
    moved = to_cpu(Evidence(torch.ones(2, 3), torch.zeros(2, 4)))
    assert moved.features is not None and moved.features.device.type == "cpu" and moved.labels is None
