"""Settings for images of one's own, by their size and number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lond.errors import DataError
from lond.presets.own_data import SMALL_IMAGE, own_batch, own_data


def saved(path: Path, side: int, images: int = 40) -> str:
    np.savez(path, x=np.zeros((images, side, side + 4, 3), np.uint8), y=np.arange(images) % 2)
    return str(path)


def test_small_images_are_learned_from_scratch(tmp_path: Path) -> None:
    source = saved(tmp_path / "own.npz", SMALL_IMAGE, images=800)
    config = own_data(source, "test.npz")
    assert (config.data.source, config.data.test_source, config.data.hold_out) == (source, "test.npz", 0.1)
    assert not config.net.pretrained
    assert (config.data.read.size, config.views.padding) == (64, 8)
    assert (config.settings.warmup_epochs, config.train.epochs, config.train.batch_size) == (20, 100, 50)
    assert own_data(saved(tmp_path / "tiny.npz", 4)).views.padding == 1


def test_large_images_start_from_learned_weights(tmp_path: Path) -> None:
    config = own_data(saved(tmp_path / "own.npz", SMALL_IMAGE + 1))
    assert (config.net.backbone, config.net.pretrained) == ("efficientnet-lite0", True)
    assert (config.data.read.size, config.train.epochs, config.train.batch_size) == (65, 40, 32)
    assert (config.settings.mixup, config.views.strong) == (0.5, "randaugment")


def test_features_need_no_network(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", embeddings=np.zeros((400, 6)), y=np.arange(400) % 2)
    config = own_data(str(tmp_path / "own.npz"))
    assert (config.net.backbone, config.train.epochs, config.train.batch_size) == ("features", 9, 20)
    assert (config.data.source, config.data.hold_out) == (str(tmp_path / "own.npz"), 0.1)


def test_an_epoch_of_few_images_has_some_steps() -> None:
    assert [own_batch(images, 128) for images in (10, 512, 800, 100_000)] == [32, 32, 50, 128]
    assert own_batch(100_000, 16) == 16


def test_a_source_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or folder"):
        own_data(str(tmp_path / "missing"))
