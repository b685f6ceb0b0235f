"""Maps of test images: which are drawn, and where they lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from methods.tiny import VIEWS, write_npz

from lond.config import DataSettings, NetSettings, RunConfig
from lond.errors import DataError
from lond.methods import StandardSettings
from lond.paper.reproduce.maps import fixed_sample, map_of
from lond.runs import train_run
from lond.train.loop import TrainSettings
from lond.train.runtime import RuntimeSettings
from lond.types import FOREIGN


def test_the_sample_of_a_map_is_fixed() -> None:
    labels = torch.arange(20).repeat(60)
    labels[labels >= 16] = FOREIGN
    chosen = fixed_sample(labels)
    drawn = labels[chosen]
    assert sorted(set(drawn.tolist())) == [FOREIGN, 0, 2, 3, 5, 7, 8, 10, 12, 13, 15]
    assert (drawn == 0).sum() == 50 and (drawn == FOREIGN).sum() == 240
    assert torch.equal(chosen, fixed_sample(labels))
    assert fixed_sample(torch.tensor([0, 1, FOREIGN])).tolist() == [0, 1, 2]


def test_a_map_of_a_trained_run(tmp_path: Path) -> None:
    write_npz(tmp_path / "train.npz", 24)
    write_npz(tmp_path / "test.npz", 9)
    one = RuntimeSettings(accelerator="cpu", threads=1)
    config = RunConfig(
        data=DataSettings(source=str(tmp_path / "train.npz"), test_source=str(tmp_path / "test.npz")),
        net=NetSettings(width=0.125),
        views=VIEWS,
        method="standard",
        settings=StandardSettings(),
        train=TrainSettings(epochs=1, batch_size=16, average_last=1),
    )
    train_run(config, tmp_path / "run", one)
    found = map_of(tmp_path / "run", "nowhere", one)
    assert len(found.points) == len(found.labels) == 9
    assert found.labels == sorted(found.labels) and found.kind in ("PCA", "t-SNE")
    assert np.isfinite(found.points).all()
    alone = replace(config, data=replace(config.data, test_source=""))
    train_run(alone, tmp_path / "alone", one)
    with pytest.raises(DataError, match="trained without test data; there is nothing to draw"):
        map_of(tmp_path / "alone", "", one)
