"""Networks in eight-bit integers: faster, and their features are no longer those of the published network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.errors import MissingDependencyError

CALIBRATION_IMAGES = 96
"""Parts of photographs that tell how large the values inside a network become."""

SMALLEST_PART = 0.3
"""Side of the smallest part, as a share of the photograph's short side."""


def quantised(model: Any, size: int) -> Any:
    """Return an OpenVINO model with weights and activations in eight-bit integers.

    Ranges come from parts of two photographs that scikit-learn brings, never from the user's images: the same network
    gives the same features for every set.

    Args:
        model: takes float images ``(1, 3, size, size)`` with values from 0 to 255.
        size: side of the images.

    Raises:
        MissingDependencyError: NNCF is not installed.
    """
    try:
        import nncf
    except ImportError as error:
        raise MissingDependencyError("the precision int8 needs NNCF: pip install 'lond[int8]'") from error
    parts = calibration_images(size)
    return nncf.quantize(model, nncf.Dataset(parts), subset_size=len(parts))


def calibration_images(size: int) -> list[NDArray[np.float32]]:
    """Return parts of photographs, plain and blurred as small images are when they are enlarged."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    random = np.random.default_rng(0)
    photographs = [Image.fromarray(image) for image in load_sample_images().images]
    parts = []
    for number in range(CALIBRATION_IMAGES):
        photograph = photographs[number % len(photographs)]
        side = int(min(photograph.size) * random.uniform(SMALLEST_PART, 1))
        left, top = (int(random.integers(0, whole - side + 1)) for whole in photograph.size)
        part = photograph.crop((left, top, left + side, top + side))
        if number % 4 < 2:
            part = part.resize((32, 32), Image.Resampling.BILINEAR)
        part = part.resize((size, size), Image.Resampling.BICUBIC)
        parts.append(np.asarray(part, dtype=np.float32).transpose(2, 0, 1)[None])
    return parts
