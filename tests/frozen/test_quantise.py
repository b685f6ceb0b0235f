"""Networks in eight-bit integers: near the full ones, from images that are always the same."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lond.errors import MissingDependencyError
from lond.frozen.convert import compile_openvino
from lond.frozen.quantise import CALIBRATION_IMAGES, calibration_images, quantised


def test_calibration_images_are_always_the_same() -> None:
    first, again = calibration_images(24), calibration_images(24)
    assert len(first) == CALIBRATION_IMAGES
    assert all(part.shape == (1, 3, 24, 24) and part.dtype == np.float32 for part in first)
    assert all(part.min() >= 0 and part.max() <= 255 for part in first)
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    assert len({part.tobytes() for part in first}) == CALIBRATION_IMAGES


def test_features_stay_near_and_are_no_longer_the_same(tmp_path: Path) -> None:
    pytest.importorskip("nncf")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(2)).eval()
    full, coarse = (compile_openvino(network, 16, tmp_path, precision=precision) for precision in ("full", "int8"))
    assert len(list((tmp_path / "converted").iterdir())) == 2
    image = calibration_images(16)[1]
    expected, found = full([image])[0], coarse([image])[0]
    assert 0 < np.abs(found - expected).mean() < 0.05 * np.abs(expected).mean()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nncf", None)
    with pytest.raises(MissingDependencyError, match=r"lond\[int8\]"):
        quantised(None, 16)
