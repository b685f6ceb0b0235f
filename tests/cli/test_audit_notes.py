"""What the commands about audits print besides counts and rates."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lond.audit.judge.learn import OUT_OF_FOLD
from lond.cli.audit_notes import existing_audit, print_copies, print_model, told_foreign, train_command
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.io.json_files import write_json

METRICS = {"threshold": 0.3, "threshold_images": 500, "false_alarm_rate": 0.05, "threshold_from": OUT_OF_FOLD}


class Table:
    def __init__(self, copy_group: tuple[str, ...], quality: tuple[tuple[str, ...], ...]) -> None:
        self.copy_group, self.quality = copy_group, quality


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    (tmp_path / "heads" / "model").mkdir(parents=True)
    write_json(tmp_path / "heads" / "model" / "config.json", {})
    write_json(tmp_path / "heads" / "model" / "metrics.json", METRICS)
    write_json(tmp_path / "summary.json", {})
    return tmp_path


def test_copies_and_quality_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    both: Any = Table(("1", "1", "2", "2", ""), ((), ("dark",), (), (), ()))
    print_copies(both)
    assert capsys.readouterr().out == "also found: 2 groups of copies and unusual pictures (1 dark); see the page\n"
    several: Any = Table(("", "", ""), (("dark", "grey"), ("grey",), ()))
    print_copies(several)
    assert capsys.readouterr().out == "also found: unusual pictures (2 grey, 1 dark); see the page\n"
    neither: Any = Table(("", ""), ((), ()))
    print_copies(neither)
    assert capsys.readouterr().out == ""


def test_a_mistyped_audit_is_called_one(tmp_path: Path) -> None:
    assert existing_audit(tmp_path) == tmp_path
    with pytest.raises(
        ConfigError, match=r"there is no audit .*audti \(the folder that lond audit wrote, or its table"
    ):
        existing_audit(tmp_path / "audti")


def test_the_model_is_named_with_its_threshold(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_model(audited)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"model: {audited / 'heads' / 'model'} (for new images: lond predict ")
    assert lines[1] == (
        "threshold: about 5 in 100 known images will be called foreign by mistake "
        "(likely 3.1 to 6.9; set on 500 images that the model had not seen)"
    )


def test_the_model_that_knows_foreign_images_is_named_if_there_is_one(audited: Path, tmp_path: Path) -> None:
    assert told_foreign(3, audited).endswith(
        f"the model of the audit ({audited / 'heads' / 'model'}) has learned from them"
    )
    (audited / "heads" / "model" / "config.json").unlink()
    for folder in (audited, tmp_path / "elsewhere"):
        assert told_foreign(3, folder).endswith("recognises fewer foreign images")


def test_training_reuses_the_features_of_the_audit(tmp_path: Path) -> None:
    audit, plain = tmp_path / "my audit", "lond train corrected --frozen --out runs/corrected"
    assert train_command(Path("corrected"), audit) == plain
    audit.mkdir()
    usual = asdict(ExtractorSettings())
    write_json(audit / "summary.json", {"settings": {"extractor": usual | {"mirrored": False}}})
    assert train_command(Path("corrected"), audit) == plain
    (audit / "features").mkdir()
    cache = f"--set 'data.frozen.cache={audit / 'features'}'"
    reuse = f"{plain}\n  to reuse the features of the audit in place of new ones, add {cache}"
    assert train_command(Path("corrected"), audit) == f"{reuse} --set data.frozen.mirrored=false"
    write_json(audit / "summary.json", {"settings": {"extractor": usual | {"size": 240, "route": "torch"}}})
    assert train_command(Path("corrected"), audit) == f"{reuse} --set data.frozen.size=240"
    write_json(audit / "summary.json", {"settings": {"extractor": usual | {"whole": True}}})
    assert train_command(Path("corrected"), audit) == f"{reuse} --set data.frozen.whole=true"
    del usual["whole"]
    write_json(audit / "summary.json", {"settings": {"extractor": usual}})
    assert train_command(Path("corrected"), audit) == reuse, "audits before there was a choice"
    write_json(audit / "summary.json", {"settings": None})
    assert train_command(Path("corrected"), audit) == plain
