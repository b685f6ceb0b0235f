"""Stages as files: had again by the same images only, and made anew where a file is damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lond.audit.judge import stage_files as module
from lond.audit.judge.stage_files import StageFiles, stage_files
from lond.data.feature_views import FeaturePixels
from lond.types import Samples


def test_stages_are_had_by_their_key_only(tmp_path: Path) -> None:
    files = StageFiles(tmp_path / "stages", "a")
    assert files.load("second heads") is None
    files.save("second heads", {"weights": torch.arange(3.0)})
    kept = files.load("second heads")
    assert kept is not None and kept["weights"].tolist() == [0, 1, 2]
    assert StageFiles(tmp_path / "stages", "b").load("second heads") is None
    (tmp_path / "stages" / "second-heads.safetensors").write_bytes(b"cut short")
    assert files.load("second heads") is None


def test_the_key_follows_images_labels_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    samples = Samples(FeaturePixels(values), torch.arange(6) % 2, ("a", "b"), tuple("012345"))
    assert stage_files(tmp_path, samples, 5) is None
    monkeypatch.setattr(module, "FROM", 6)
    other = [
        stage_files(tmp_path, samples, 4),
        stage_files(tmp_path, replace(samples, labels=1 - samples.labels), 5),
        stage_files(tmp_path, replace(samples, pixels=FeaturePixels(values + 1)), 5),
    ]
    first = stage_files(tmp_path, samples, 5)
    assert first is not None and first == stage_files(tmp_path, samples, 5)
    assert first.key not in {files.key for files in other if files is not None}
