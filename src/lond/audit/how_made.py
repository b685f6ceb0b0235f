"""What the summary of an audit and its notes say about how it was made."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.audit.judge.learn import MODEL, Learned
from lond.audit.second_look import SecondLook
from lond.audit.settings import AuditSettings
from lond.audit.table import HARD_TO_SEE
from lond.crossfit.beside import Beside
from lond.crossfit.decided import UNDECIDED
from lond.data.squares import SquarePixels
from lond.errors import counted
from lond.frozen.pictures import ALONG, base_of
from lond.frozen.read import ImageFacts
from lond.layout_map import used_kind

CENTRE, PADDED, SQUEEZED = "centre square", "whole, padded", "whole"
LONG_IN_SQUARES = "centre square, of long pictures three squares"
"""Which part of a picture the network saw, in the summary."""

LONG = 1.5
"""Long side by short side beyond which the ends of a picture are worth a hint."""

CAMERAS = 1.01
"""Factor by which pictures of 3:2 may exceed it: some cameras write 4928 x 3264 or 4288 x 2848 pixels."""

MANY_LONG = 0.1
"""Share of such pictures above which the hint is given."""

BEYOND_TABLE = (
    "the labels fit the images so badly that all probabilities are rough, and no image is called foreign; "
    "check how the labels were made, or give features that fit the images better"
)
"""Note on a set whose labels say too little."""


def learning_notes(learned: Learned) -> list[str]:
    """Return what a person should know about how the images were judged."""
    notes, judgement = [], learned.judgement
    recall = judgement.evidence.near.recall
    if recall < 1:
        notes.append(f"neighbours were searched by cells, which finds about {100 * recall:.1f} % of them")
    if learned.beside is not None:
        notes.append(told_probabilities(learned.beside))
    if judgement.beyond_table:
        notes.append(BEYOND_TABLE)
    return notes


def second_look_facts(look: SecondLook, folder: Path | None) -> dict[str, Any]:
    """Return how many images were decided and how many of these taught, by which key files and model are found.

    ``judged`` tells how the decided images were judged before.
    """
    model = "" if folder is None else f"{folder.name}/{MODEL}"
    judged = {name: list(told) for name, told in look.judged.items()}
    return {"decided": look.decided, "taught": look.taught, "key": look.key, "model": model, "judged": judged}


def told_probabilities(beside: Beside) -> str:
    """Return in a sentence what became of given probabilities."""
    if beside.judged:
        return "your probabilities fit the labels better than the features do: the images are judged by them"
    if beside.share > 0:
        return f"your probabilities count beside the features, with a weight of {100 * beside.share:.0f} %"
    return "your probabilities add nothing to what the features say, and are not heeded"


def probability_facts(beside: Beside) -> dict[str, Any]:
    """Return what became of given probabilities as plain values; losses are those of the given labels, in nats."""
    return {
        "judged_by": "probabilities" if beside.judged else "features",
        "weight": beside.share,
        "loss": beside.loss,
        "features_loss": beside.features_loss,
    }


def map_facts(settings: AuditSettings, cache: str | None) -> dict[str, str]:
    """Return how the map was made and of which features; ``cache`` is None for features of the user's own."""
    own = "the features that you gave"
    return {"kind": used_kind(settings.map), "space": own if cache is None else "the features of the frozen network"}


def seen_part(facts: ImageFacts, cache: str | None, beside: Beside | None) -> str:
    """Return which part of a picture the network saw: ``SQUEEZED`` if it came as an array, else one of the others.

    "" if that is unknown, because the images are judged by features or probabilities of the user's own; ``cache`` is
    None for such features.
    """
    if cache is None or (beside is not None and beside.judged):
        return ""
    if not isinstance(base_of(facts.samples.pixels)[0], SquarePixels):
        return SQUEEZED
    if facts.whole:
        return PADDED
    return CENTRE if facts.squares_beyond == math.inf else LONG_IN_SQUARES


def seen_in_part(facts: ImageFacts, cache: str | None) -> NDArray[np.bool_]:
    """Return of which pictures ``(N,)`` the frozen network saw so little that their features say little of them."""
    if cache is None or facts.measures is None or seen_part(facts, cache, None) not in (CENTRE, LONG_IN_SQUARES):
        return np.zeros(len(facts.samples), dtype=bool)
    short, long = np.sort(facts.measures[:, :2], axis=1).T
    # An unreadable picture has no sides.
    squares = np.where(long > facts.squares_beyond * short.clip(min=1), len(ALONG), 1)
    # Resizing rounds a side to whole pixels, so the short one may lack up to a pixel.
    return np.asarray(long > CAMERAS * LONG * squares * (short + 1))


def hard_to_see(oddities: Sequence[Collection[str]]) -> NDArray[np.bool_]:
    """Return which pictures ``(N,)`` the network saw badly, by what is odd about each of them."""
    return np.array([not HARD_TO_SEE.isdisjoint(each) for each in oddities], dtype=bool)


def shape_notes(long: NDArray[np.bool_], hidden: NDArray[np.bool_], look: SecondLook | None) -> list[str]:
    """Return what a person should know of pictures that the network saw badly.

    Args:
        long: ``(N,)`` pictures that were seen in part only, told of if they are many.
        hidden: ``(N,)`` these and dark, bright, blurred and uniform ones, told of if decisions were made on them.
        look: the decisions.
    """
    notes = []
    if long.any() and long.mean() > MANY_LONG:
        notes.append(
            f"{100 * long.mean():.0f} % of the pictures have one side more than {LONG} times the other, and were seen "
            "in part; to judge whole pictures, use --whole and another --out"
        )
    decided = 0 if look is None else int((hidden & (look.truth != UNDECIDED).numpy()).sum())
    if decided:
        notes.append(
            f"{counted(decided, 'decision')} {'is' if decided == 1 else 'are'} on pictures that are dark, bright, "
            f"blurred, uniform or seen in part; {'it counts' if decided == 1 else 'they count'} for these pictures, "
            f"but {'is' if decided == 1 else 'are'} not used to judge others"
        )
    return notes
