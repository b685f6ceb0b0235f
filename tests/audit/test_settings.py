"""Settings of an audit: what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from lond.audit.settings import AuditSettings
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings


@pytest.mark.parametrize(
    "values",
    [
        {"epochs": 1}, {"epochs": -1}, {"neighbours": 0}, {"folds": 1}, {"folds": -1}, {"false_alarm_rate": 1},
        {"false_alarm_rate": 0}, {"train": "magic"}, {"train": "finetune", "extractor": ExtractorSettings(whole=True)},
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        AuditSettings(**values)


def test_zeros_leave_the_choice_to_the_audit() -> None:
    settings = AuditSettings(epochs=0, folds=0, neighbours=1)
    assert (settings.epochs, settings.folds, settings.train, settings.map) == (0, 0, "heads", "auto")
