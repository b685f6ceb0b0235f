"""Labels as people write them, turned into numbers.

The rules, the same for every source:

* None, NaN, an empty text, the text "nan" and the number -2 mean that the label is missing (``UNLABELLED``).
* -1 means foreign (``FOREIGN``); only test data and true labels may say so.
* Anything else is the name of a class. Whole numbers are named by their digits ("7").
* Class names are sorted; if all are whole numbers, by value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lond.data.options import is_training
from lond.errors import DataError
from lond.types import FOREIGN, UNLABELLED, Pixels, Samples

_WHOLE = re.compile(r"-?\d+")
_WHOLE_AS_FLOAT = re.compile(r"(-?)0*(\d+)\.0+")

LONGEST_NAME = 1000
"""Characters of a class name; what is longer is no name but the wrong column."""

Name = str | None
"""A class name, or None for a missing label."""


@dataclass(frozen=True)
class Names:
    """One name (or None) per row; ``numeric`` tells that the source wrote numbers, not text."""

    values: tuple[Name, ...]
    numeric: bool


def _listed(values: object) -> list[object]:
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError(f"labels must be one number or name per image, got an array of shape {values.shape}")
        return list(values.tolist())
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(f"labels must be a sequence, got {type(values).__name__}")
    return [value.item() if isinstance(value, (np.generic, Tensor)) else value for value in values]


def _name(value: object) -> Name:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        text = value.strip()
        if len(text) > LONGEST_NAME:
            raise DataError(f"a label of {len(text)} characters ({text[:20]!r}...) is no name of a class")
        return None if text == "" or text.lower() == "nan" or text == str(UNLABELLED) else text
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        if abs(value) >= 10**LONGEST_NAME:
            raise DataError(f"a label of more than {LONGEST_NAME} digits is no name of a class")
        return None if value == UNLABELLED else str(int(value))
    raise DataError(f"a label must be a whole number or a name, got {value!r} ({type(value).__name__})")


def read_names(values: object) -> Names:
    """Return the class name of each label in a sequence, array or tensor.

    Raises:
        DataError: a label is neither a whole number nor a name.
    """
    listed = _listed(values)
    names = [_name(value) for value in listed]
    present = [name for name in names if name is not None]
    # Tables with gaps store whole numbers as 3.0.
    if present and all(_WHOLE_AS_FLOAT.fullmatch(name) for name in present):
        names = [None if name is None else _name(_whole(name)) for name in names]
    numeric = all(name is None or _WHOLE.fullmatch(name) for name in names)
    return Names(tuple(names), numeric)


def _whole(text: str) -> str:
    """Return the digits before the point, without zeros in front."""
    found = _WHOLE_AS_FLOAT.fullmatch(text)
    assert found is not None
    return found[2] if found[2] == "0" else found[1] + found[2]


def sorted_class_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names in order: by value if all are whole numbers, else as text."""
    distinct = set(names)
    if all(_WHOLE.fullmatch(name) for name in distinct):
        return tuple(sorted(distinct, key=lambda name: (int(name), name)))
    return tuple(sorted(distinct))


def class_names_of(names: Names) -> tuple[str, ...]:
    """Return the class names that occur in labels."""
    return sorted_class_names(name for name in names.values if name is not None and name != str(FOREIGN))


def encode(names: Names, class_names: Sequence[str], *, foreign_allowed: bool, positions: bool | None = None) -> Tensor:
    """Return ``(N,)`` int64 label numbers with respect to ``class_names``.

    ``positions`` tells whether numbers are positions in ``class_names`` or names; None means positions unless the
    class names are numbers themselves. With ``foreign_allowed`` a name that is not among them is ``FOREIGN``.

    Raises:
        DataError: a foreign label where none is allowed.
    """
    number_of = {name: number for number, name in enumerate(class_names)}
    if positions is None:
        positions = not all(_WHOLE.fullmatch(name) for name in class_names)
    if names.numeric and positions:
        number_of = {str(number): number for number in range(len(class_names))}
    strangers = {name for name in names.values if name is not None and name not in number_of}
    if strangers and not foreign_allowed:
        shown = ", ".join(sorted_class_names(strangers)[:5])
        raise DataError(
            f"training labels outside the {len(class_names)} classes: {shown}. "
            f"Write -2 (or leave it empty) for a missing label; -1 (foreign) is for test data only"
        )
    numbers = [UNLABELLED if name is None else number_of.get(name, FOREIGN) for name in names.values]
    return torch.tensor(numbers, dtype=torch.int64)


def make_samples(
    pixels: Pixels,
    labels: object,
    class_names: Sequence[str] | None,
    true_labels: object = None,
    *,
    split: str = "train",
    origin: str = "memory",
    positions: bool | None = None,
) -> Samples:
    """Return numbered samples; ``labels`` may be numbers, names or None for no labels at all.

    Without ``class_names`` the classes are the distinct labels; ``positions`` is explained at ``encode``.

    Raises:
        DataError: the lengths differ, or a label is not usable.
    """
    names = Names((None,) * len(pixels), numeric=False) if labels is None else read_names(labels)
    true = None if true_labels is None else read_names(true_labels)
    for what, given in (("labels", names), ("true labels", true)):
        if given is not None and len(given.values) != len(pixels):
            raise DataError(f"{len(pixels)} images but {len(given.values)} {what}")
    known = class_names_of(names) if class_names is None else distinct(class_names)
    positions = False if class_names is None else positions
    return Samples(
        pixels,
        encode(names, known, foreign_allowed=not is_training(split), positions=positions),
        known,
        tuple(str(index) for index in range(len(pixels))),
        None if true is None else encode(true, known, foreign_allowed=True, positions=positions),
        origin=origin,
    )


def distinct(class_names: Sequence[str]) -> tuple[str, ...]:
    """Return class names with a number after each repeated one, since a name must tell a class."""
    seen: dict[str, int] = {}
    names = []
    for name in class_names:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)


def remap(samples: Samples, class_names: Sequence[str]) -> Samples:
    """Return ``samples`` relabelled for other class names; names not among them become ``FOREIGN``."""
    if samples.class_names == tuple(class_names):
        return samples
    number_of = {name: number for number, name in enumerate(class_names)}
    # The two last rows serve the negative labels: -2 stays missing, -1 stays foreign.
    table = torch.tensor([number_of.get(name, FOREIGN) for name in samples.class_names] + [UNLABELLED, FOREIGN])
    true_labels = None if samples.true_labels is None else table[samples.true_labels]
    return Samples(
        samples.pixels,
        table[samples.labels],
        tuple(class_names),
        samples.ids,
        true_labels,
        samples.origin,
        samples.problems,
    )
