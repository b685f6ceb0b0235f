"""Cross-check with pytorch-ood 0.4, an independent library; skipped where it is not installed.

Its scores have our sign. Where it differs on purpose, the test says how.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from lond.detect import (
    ASH,
    DICE,
    EBO,
    KNN,
    MDS,
    MLS,
    MSP,
    RMDS,
    SCALE,
    SHE,
    Evidence,
    GradNorm,
    NNGuide,
    OpenMax,
    ReAct,
    TempScaling,
    ViM,
)
from lond.detect.rankfeat import remove_rank_one
from lond.nets import timm_models


@pytest.fixture(scope="module")
def ood() -> ModuleType:
    """pytorch-ood's detectors; it imports torchvision, which may lack its compiled operators."""
    for name in ("torchvision", "pytorch_ood"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install pytorch-ood")
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        timm_models._declare_torchvision_operators()
    return importlib.import_module("pytorch_ood.detector")


def made(rows: int, seed: int = 0) -> Evidence:
    """Features around 4 class means, logits that mostly agree with the labels."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.arange(rows) % 4
    features = (3 * torch.eye(8)[labels] + torch.randn(rows, 8, generator=random)).relu()
    return Evidence(features, 3 * features[:, :4], labels)


FIT, QUERIES = made(400), made(60, 1)


def ranks(scores: Tensor) -> list[int]:
    return scores.argsort().argsort().tolist()


def close(ours: Tensor, theirs: Tensor, **tolerance: float) -> None:
    assert ours.tolist() == pytest.approx(theirs.tolist(), **tolerance)


def test_msp(ood: Any) -> None:
    close(MSP().score_features(QUERIES), 1 + ood.MaxSoftmax.score(QUERIES.logits), abs=1e-6)


def test_mls(ood: Any) -> None:
    close(MLS().score_features(QUERIES), ood.MaxLogit.score(QUERIES.logits))


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_ebo(ood: Any, temperature: float) -> None:
    theirs = ood.EnergyBased.score(QUERIES.logits, t=temperature)
    close(EBO(temperature=temperature).score_features(QUERIES), theirs, rel=1e-6)


def test_temp_scaling_from_the_same_start(ood: Any) -> None:
    theirs = ood.TemperatureScaling(None).fit_logits(FIT.logits, FIT.labels)
    ours = TempScaling(start=1.0).fit_features(FIT)
    assert float(ours.state["temperature"]) == pytest.approx(theirs.t.item(), rel=1e-3)
    close(ours.score_features(QUERIES), 1 + theirs.predict_logits(QUERIES.logits).detach(), abs=1e-4)


def test_mds_ranks_alike(ood: Any) -> None:
    """Its covariance is not divided by N, it halves the distance and adds 1e-6 to the diagonal."""
    theirs = ood.Mahalanobis(None).fit_features(FIT.features.double(), FIT.labels).predict_features(QUERIES.features)
    ours = MDS().fit_features(FIT).score_features(QUERIES)
    assert ranks(ours) == ranks(theirs)
    close(ours, theirs * 2 * len(FIT.features), rel=1e-3)


@pytest.mark.parametrize("k", [1, 50])
def test_knn(ood: Any, k: int) -> None:
    """Its distance is not squared."""
    theirs = ood.KNN(None, k=k).fit_features(FIT.features, FIT.labels).predict_features(QUERIES.features)
    close(KNN(k=k).fit_features(FIT).score_features(QUERIES), theirs.square(), abs=1e-5)


def test_openmax(ood: Any) -> None:
    """It fits on all samples of a class, so it is given only correct ones; every class must be predicted somewhere."""
    correct = FIT.logits.argmax(dim=1) == FIT.labels
    fit = Evidence(logits=FIT.logits[correct], labels=FIT.labels[correct])
    assert len(QUERIES.logits.argmax(dim=1).unique()) == 4
    theirs = ood.OpenMax(None, tailsize=20, alpha=3).fit_logits(fit.logits, fit.labels).predict_logits(QUERIES.logits)
    close(OpenMax().fit_features(FIT).score_features(QUERIES), theirs, rel=5e-3, abs=1e-4)


def test_react(ood: Any) -> None:
    def head(features: Tensor) -> Tensor:
        return features[:, :4] * 3

    theirs = ood.ReAct(None, head).fit_feature_maps(FIT.features, FIT.labels).predict_feature_maps(QUERIES.features)
    close(ReAct(head=head).fit_features(FIT).score_features(QUERIES), theirs, rel=1e-5)


# The last layer of the network behind ``made``.
LAST = torch.nn.Linear(8, 4, bias=False)
LAST.weight.data = 3 * torch.eye(8)[:4]


def head(features: Tensor) -> Tensor:
    return LAST(features.flatten(1)).detach()


def test_vim(ood: Any) -> None:
    theirs = ood.ViM(None, d=4, w=LAST.weight, b=torch.zeros(4)).fit_features(FIT.features, FIT.labels)
    ours = ViM(head=head).fit_features(FIT).score_features(QUERIES)
    close(ours, theirs.predict_features(QUERIES.features), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("variant", ["s", "b", "p"])
def test_ash(ood: Any, variant: Any) -> None:
    theirs = ood.ASH(None, head, variant=f"ash-{variant}", percentile=0.65)
    maps = QUERIES.features[:, :, None, None]
    ours = ASH(head=head, percentile=65, variant=variant).score_features(QUERIES)
    close(ours, theirs.predict_feature_maps(maps), rel=1e-4)


def test_scale(ood: Any) -> None:
    theirs = ood.SCALE(None, head, percentile=0.5).predict_feature_maps(QUERIES.features[:, :, None, None])
    close(SCALE(head=head, percentile=50).score_features(QUERIES), theirs, rel=1e-4)


def test_gradnorm(ood: Any) -> None:
    """It averages over the classes as the paper does; the released code sums."""
    theirs = ood.GradNorm(LAST).predict(QUERIES.features)
    close(GradNorm().score_features(QUERIES), theirs, rel=1e-4)


def test_dice(ood: Any) -> None:
    theirs = ood.DICE(None, LAST.weight, torch.zeros(4), p=0.7).fit_features(FIT.features, FIT.labels)
    ours = DICE(head=head, percentile=70).fit_features(FIT).score_features(QUERIES)
    close(ours, theirs.predict_features(QUERIES.features), rel=1e-5)


def test_she(ood: Any) -> None:
    theirs = ood.SHE(None, head).fit_features(FIT.features, FIT.labels).predict_features(QUERIES.features)
    close(SHE().fit_features(FIT).score_features(QUERIES), theirs, rel=1e-5)


def test_nnguide(ood: Any) -> None:
    theirs = ood.NNGuide(None, head, k=10).fit_features(FIT.features, FIT.labels).predict_features(QUERIES.features)
    close(NNGuide(k=10).fit_features(FIT).score_features(QUERIES), theirs, rel=1e-4)


def test_rmds_ranks_alike(ood: Any) -> None:
    """Neither of its covariances is divided by N, and it adds 1e-6 to both diagonals."""
    theirs = ood.RMD(None).fit_features(FIT.features, FIT.labels).predict_features(QUERIES.features)
    close(RMDS().fit_features(FIT).score_features(QUERIES), theirs * len(FIT.features), rel=1e-3, abs=1e-3)


def test_rankfeat_removes_the_same(ood: Any) -> None:
    maps = torch.randn(5, 16, 3, 3, generator=torch.Generator().manual_seed(0)).relu()
    removed = importlib.import_module("pytorch_ood.detector.rankfeat")._remove_rank1(maps)
    assert torch.allclose(remove_rank_one(maps), removed, atol=1e-5)
