"""What an audit that is started again must keep from the time before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lond.config import read_config
from lond.frozen.extractor import ExtractorSettings, own_size
from lond.runs import CONFIG


def usual_extractor(
    folder: Path | None, network: str = ExtractorSettings.backbone, size: int = 0, **asked: Any
) -> ExtractorSettings:
    """Return the frozen network of an audit: one view per image, or as many as the runs in ``folder`` learned from.

    Audits of 0.1.0 computed a mirrored view, too. Their runs are resumed, and their features found, with both.

    Args:
        folder: of the audit's runs; None, or one that is not there, if there are none.
        network: its name.
        size: side of the images that it sees; 0 = its own.
        asked: other settings of it besides ``mirrored``.

    Raises:
        DataError: a stored configuration is damaged.
    """
    stored = [] if folder is None else [read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))]
    mirrored = any(config.data.frozen.backbone and config.data.frozen.mirrored for config in stored)
    return ExtractorSettings(network, size or own_size(network), mirrored=mirrored, **asked)
