"""The check that a labelled set has classes to tell apart."""

from __future__ import annotations

from pathlib import Path

from lond.errors import DataError, counted
from lond.types import Samples


def check_two_classes(samples: Samples, need: str) -> None:
    """Check that a set has at least two classes; ``need`` says what needs them, such as "an audit compares".

    Raises:
        DataError: it has fewer; the message says what to give instead.
    """
    if samples.num_classes >= 2:
        return
    if not samples.num_classes and Path(samples.origin).is_dir():
        raise DataError(_no_class_folders(Path(samples.origin), len(samples)))
    raise DataError(
        f"{samples.origin} has {counted(samples.num_classes, 'class', 'classes')}; "
        f"{need} at least two, e.g. one folder of images a class"
    )


def _no_class_folders(folder: Path, images: int) -> str:
    # The path as it was given has no name where it is "." or "..".
    own = folder if folder.name not in ("", "..") else folder.resolve()
    return (
        f"{folder} holds {counted(images, 'image')} but no class folders; "
        f"if {own.name!r} is the class of these images, give its parent folder ({own.parent})"
    )
