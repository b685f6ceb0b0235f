"""What an audit that is started again must keep from the time before."""

from __future__ import annotations

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
    """Return the frozen network of an audit: one view of each centre square, or as the runs in ``folder`` learned.

    Audits of 0.1.0 computed a mirrored view, too. Their runs are resumed, and their features found, with both.

    Args:
        folder: of the audit's runs; None, or one that is not there, if there are none.
        network: its name.
        size: side of the images that it sees; 0 = its own.
        whole: whether it sees whole pictures; None = as the runs in ``folder`` did.
        asked: other settings of it besides ``mirrored``.

    Raises:
        ConfigError: the runs in ``folder`` saw other parts of the pictures than asked for.
        DataError: a stored configuration is damaged.
    """
    configs = [] if folder is None else [read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))]
    stored = [config.data.frozen for config in configs if config.data.frozen.backbone]
    mirrored, seen = any(frozen.mirrored for frozen in stored), {frozen.whole for frozen in stored}
    if whole is not None and seen - {whole}:
        part = "centre squares" if whole else "whole pictures"
        raise ConfigError(f"{folder} holds an audit that saw {part}; choose another folder (--out) to see the other")
    return ExtractorSettings(
        network, size or own_size(network), mirrored=mirrored, whole=whole or True in seen, **asked
    )
