"""What an audit that is started again must keep from the time before."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from lond.config import read_config
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings, own_size
from lond.runs import CONFIG


def usual_extractor(
    folder: Path | None,
    network: str = ExtractorSettings.backbone,
    size: int = 0,
    *,
    whole: bool | None = None,
    **asked: Any,
) -> ExtractorSettings:
    """Return the frozen network of an audit: one view of each picture, or as the runs in ``folder`` learned.

    Audits of 0.1.0 computed a mirrored view, too, of centre squares only. Their runs are resumed, and their features
    found, with both.

    Args:
        folder: of the audit's runs; None, or one that is not there, if there are none.
        network: its name.
        size: side of the images that it sees; 0 = its own.
        whole: whether it sees all pictures whole, or the centre squares of all; None = as the runs in ``folder`` did,
            or long ones in three squares.
        asked: other settings of it besides ``mirrored``.

    Raises:
        ConfigError: the runs in ``folder`` saw other parts of the pictures than asked for.
        DataError: a stored configuration is damaged.
    """
    configs = [] if folder is None else [read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))]
    stored = [config.data.frozen for config in configs if config.data.frozen.backbone]
    mirrored = any(frozen.mirrored for frozen in stored)
    found = ExtractorSettings(network, size or own_size(network), mirrored=mirrored, **asked)
    if whole is not None:
        found = found.showing(whole)
    elif stored:
        found = replace(found, whole=stored[0].whole, squares_beyond=stored[0].squares_beyond)
    other = next((each for each in stored if (each.whole, each.limit) != (found.whole, found.limit)), None)
    if other is not None:
        part = "centre squares" if other.limit == math.inf else "three squares of long pictures"
        part = "whole pictures" if other.whole else part
        raise ConfigError(f"{folder} holds an audit that saw {part}; choose another folder (--out) to see others")
    return found
