"""Audits that are started again keep the views of the time before."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from lond.audit.judge.earlier import usual_extractor
from lond.audit.settings import AuditSettings
from lond.config import DataSettings, RunConfig, to_dict
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.samples import FrozenSettings
from lond.io.json_files import write_json


def test_one_view_unless_the_folder_holds_runs_on_two(tmp_path: Path) -> None:
    assert usual_extractor(None) == usual_extractor(tmp_path / "none") == AuditSettings().extractor
    assert not AuditSettings().extractor.mirrored
    assert usual_extractor(None, size=48) == ExtractorSettings(size=48, mirrored=False)
    larger = usual_extractor(None, "efficientnet-lite2", route="torch")
    assert larger == ExtractorSettings("efficientnet-lite2", 260, mirrored=False, route="torch")


@pytest.mark.parametrize("mirrored", [False, True])
def test_views_of_the_runs_of_a_folder(tmp_path: Path, mirrored: bool) -> None:
    config = RunConfig(data=DataSettings(frozen=FrozenSettings("efficientnet-lite0", mirrored=mirrored)))
    (tmp_path / "fold0").mkdir()
    write_json(tmp_path / "fold0" / "config.json", to_dict(config))
    assert usual_extractor(tmp_path).mirrored is mirrored
    assert usual_extractor(tmp_path).limit == math.inf
    own = replace(config, data=DataSettings())
    write_json(tmp_path / "fold0" / "config.json", to_dict(own))
    assert not usual_extractor(tmp_path).mirrored and usual_extractor(tmp_path).limit == 2


@pytest.mark.parametrize("whole", [False, True])
def test_the_part_of_the_pictures_that_the_runs_of_a_folder_saw(tmp_path: Path, whole: bool) -> None:
    assert usual_extractor(tmp_path, whole=whole).whole is whole
    config = RunConfig(data=DataSettings(frozen=FrozenSettings("efficientnet-lite0", whole=whole)))
    (tmp_path / "model").mkdir()
    write_json(tmp_path / "model" / "config.json", to_dict(config))
    assert usual_extractor(tmp_path).whole is usual_extractor(tmp_path, whole=whole).whole is whole
    with pytest.raises(ConfigError, match="saw whole pictures" if whole else "saw centre squares"):
        usual_extractor(tmp_path, whole=not whole)


def test_runs_that_saw_three_squares_of_long_pictures_are_resumed_so(tmp_path: Path) -> None:
    config = RunConfig(data=DataSettings(frozen=FrozenSettings("efficientnet-lite0", squares_beyond=3)))
    (tmp_path / "model").mkdir()
    write_json(tmp_path / "model" / "config.json", to_dict(config))
    assert usual_extractor(tmp_path).limit == 3
    for whole in (False, True):
        with pytest.raises(ConfigError, match="saw three squares"):
            usual_extractor(tmp_path, whole=whole)
