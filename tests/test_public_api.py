from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

import lond
import lond.audit
import lond.results
from lond.identify import IdentifySettings, identify

ASKED = {
    "__version__", "LondClassifier", "Partition", "Verdict", "FOREIGN", "UNLABELLED",
    "RunConfig", "preset", "train_run", "load_run", "LondError", "DataError", "ConfigError", "CollapseError",
    "MissingDependencyError",
}  # fmt: skip


def test_the_public_names_are_these_and_all_are_there() -> None:
    assert set(lond.__all__) == ASKED
    assert set(dir(lond)) == ASKED
    for name in ASKED:
        assert getattr(lond, name) is not None
    assert lond.FOREIGN == -1
    assert lond.UNLABELLED == -2


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert lond.__version__ == version("lond")


@pytest.mark.parametrize("package", [lond, lond.audit, lond.results], ids=lambda package: package.__name__)
def test_names_are_there_when_they_are_used(package: ModuleType) -> None:
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        value = getattr(package, name)
        assert value is not None
        assert vars(package)[name] is value
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'magic'"):
        _ = package.magic


def test_import_is_cheap() -> None:
    costly = {"torch", "typer", "rich", "sklearn", "numpy"}
    code = f"import sys, lond, lond.audit, lond.results; print(sorted({costly} & sys.modules.keys()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def noisy_arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three tight clusters of 20; samples 0 and 1 bear a wrong label, samples 60-63 belong to no class."""
    random = np.random.RandomState(0)
    truth = np.repeat([0, 1, 2], 20)
    embeddings = np.eye(8)[truth] + 0.05 * random.randn(60, 8)
    positives = np.full((60, 3), 0.02)
    positives[np.arange(60), truth] = 0.95
    foreign = np.eye(8)[[5, 5, 6, 6]] + 0.05 * random.randn(4, 8)
    labels = np.concatenate([truth, [1, 2, 1, 2]])
    labels[:2] = [1, 2]
    positives[[0, 1], [1, 2]] = 0.1
    return labels, np.vstack([positives, np.full((4, 3), 0.02)]), np.vstack([embeddings, foreign])


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_identification_from_arrays(kind: type) -> None:
    labels, positives, embeddings = map(kind, noisy_arrays())
    settings = IdentifySettings(neighbours=10, top=1, clean_quantile=0.0, open_share=0.4)
    partition = identify(labels, positives, embeddings, settings)
    assert isinstance(partition, lond.Partition)
    assert (partition.clean.int() + partition.closed.int() + partition.open.int() == 1).all()
    names = partition.names()
    assert names[60:] == ["open"] * 4
    assert names[:2] == ["closed"] * 2
    assert partition.corrected[:2].tolist() == [0, 0]
    assert (partition.weights[partition.clean] == 1).all()
    assert (partition.weights[partition.open] == 0).all()
    assert ((partition.weights >= 0) & (partition.weights <= 1)).all()
