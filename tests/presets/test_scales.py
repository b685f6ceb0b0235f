"""Scales, given plain values; every cell of the paper is tried in ``tests/paper/reproduce/test_configs.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from lond.errors import ConfigError
from lond.presets.scales import Places, Variation, at_scale, plain_at_scale, source_below

WARMER = Variation("cifar80n-sym80", "dividemix", {"settings.clean_threshold": "0.7", "train.epochs": "50"})


@pytest.mark.parametrize("scale", ["full", "mini", "frozen", "smoke"])
def test_a_change_holds_on_every_scale_and_not_in_the_plain_run(scale: str) -> None:
    config, plain = at_scale(WARMER, scale, Places("there"), 3), plain_at_scale(WARMER, scale, Places("there"), 3)
    assert (config.settings.clean_threshold, plain.settings.clean_threshold) == (0.7, 0.5)
    assert (config.method, config.train.seed, config.data.benchmark.root) == ("dividemix", 3, "there")
    # Other lengths become those of the warm-up.
    assert config.train.epochs == (50 if scale == "full" else plain.settings.warmup_epochs)


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="no scale 'tiny'; choose one of: full, mini"):
        at_scale(WARMER, "tiny", Places())


def test_open_set_images_may_be_in_a_file(tmp_path: Path) -> None:
    assert source_below(str(tmp_path), "tinyimagenet") == tmp_path / "tinyimagenet"
    (tmp_path / "tinyimagenet.npz").touch()
    assert source_below(str(tmp_path), "tinyimagenet") == tmp_path / "tinyimagenet.npz"
    (tmp_path / "tinyimagenet").mkdir()
    assert source_below(str(tmp_path), "tinyimagenet") == tmp_path / "tinyimagenet"
