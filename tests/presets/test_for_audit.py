"""What an audit trains: heads, the pretrained network, a network from scratch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from lond.audit.settings import AuditSettings
from lond.audit.to_learn import learned_from
from lond.config import RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.pixels import ArrayPixels
from lond.data.resized import ResizedPixels
from lond.errors import ConfigError, DataError
from lond.frozen.extractor import ExtractorSettings
from lond.presets.for_audit import EPOCHS, TrainingKind, for_audit
from lond.runs.build import build
from lond.runs.data import shape_of
from lond.types import Samples

EXTRACTOR = ExtractorSettings(size=48)


@dataclass(frozen=True)
class Planned:
    config: RunConfig
    samples: Samples


def planned(trained: TrainingKind, side: int = 24, epochs: int = 0, pixels: object = None) -> Planned:
    images = torch.zeros(40, 3, side, side, dtype=torch.uint8)
    samples = Samples(
        pixels or ArrayPixels(images), torch.arange(40) % 2, ("a", "b"), tuple(str(place) for place in range(40))
    )
    seen = learned_from(trained, samples, np.zeros((40, 2, 5), dtype=np.float16), EXTRACTOR)
    return Planned(for_audit(trained, len(seen), seen.pixels.size[0], EXTRACTOR, epochs, 7), seen)


def test_heads_learn_from_features() -> None:
    found = planned("heads")
    assert isinstance(found.samples.pixels, FeaturePixels)
    assert found.config.net.backbone == "features"
    assert found.config.train.epochs == EPOCHS["heads"]
    assert found.config.train.seed == 7


def test_the_pretrained_network_learns_from_images_at_its_size() -> None:
    found = planned("finetune", epochs=6)
    assert isinstance(found.samples.pixels, ResizedPixels)
    assert found.samples.pixels.size == (48, 48)
    assert found.config.net.backbone == "efficientnet-lite0"
    assert found.config.net.pretrained
    assert found.config.train.epochs == 6
    assert found.config.settings.warmup_epochs == 2


@pytest.mark.parametrize(("side", "seen"), [(24, 24), (96, 64)])
def test_a_network_from_scratch_learns_from_small_images(side: int, seen: int) -> None:
    found = planned("scratch", side)
    assert found.samples.pixels.size == (seen, seen)
    assert found.config.net.backbone == "seven-layer"
    assert not found.config.net.pretrained
    assert found.config.train.epochs == EPOCHS["scratch"]
    method, views = build(found.config, shape_of(found.samples), found.samples.labels)
    assert method.predict(views.test(torch.zeros(2, 3, seen, seen, dtype=torch.uint8))).scores.shape == (2,)


def test_what_cannot_be_trained_is_refused() -> None:
    embeddings = FeaturePixels(np.zeros((40, 5), dtype=np.float32))
    for trained in ("finetune", "scratch"):
        with pytest.raises(DataError, match="only be trained on images"):
            planned(trained, pixels=embeddings)
    with pytest.raises(ConfigError, match="no training 'everything'"):
        AuditSettings(train="everything")
