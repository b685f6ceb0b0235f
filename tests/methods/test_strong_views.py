"""What each method sees: strong views carry the strong policy, and the others do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.tiny import VIEWS, default_settings, tiny_samples, tiny_trainer
from torch import Generator, Tensor

from lond.data.augment import policies
from lond.data.views import ViewMaker
from lond.methods import METHODS, sed
from lond.types import Batch

STRONG = {
    "cross-fit": {("all", 1)},
    "disc": {("all", 1)},
    "lond-drs-fast": {("all", 1), ("clean", 1), ("closed", 1)},
    "lond-drs": {("all", 1), ("clean", 1), ("closed", 1), ("trusted", 1)},
    "nce": {("clean", 2), ("rest", 0)},
    "ngc": {("all", 1)},
    "npn-hard": {("all", 1)},
    "npn-soft": {("all", 1)},
    "sed": {("all", 1)},
    "unicon": {("labelled", 2), ("labelled", 3), ("unlabelled", 2), ("unlabelled", 3)},
}
"""Method -> streams and places of the views that are strong in some phase; none of a method that is not named."""


def inverted(images: Tensor, generator: Generator) -> Tensor:
    return 255 - images


@pytest.mark.parametrize("name", METHODS)
def test_strong_views_have_their_policy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of this test turns dark images bright, which no crop can."""
    monkeypatch.setitem(policies.STRONG_POLICIES, VIEWS.strong, inverted)
    monkeypatch.setattr(sed, "PATIENCE", 0)
    labels = torch.arange(48) % 3
    labels[::5] = (labels[::5] + 1) % 3
    settings = default_settings(name)
    if name == "nce":
        settings = replace(settings, strong_labelled=True, verify_threshold=0.5)
    trainer = tiny_trainer(tiny_samples(48, labels=labels), name, settings=settings, epochs=3)
    border = ViewMaker(VIEWS, 1).test(torch.full((1, 1, 1, 1), 127, dtype=torch.uint8)).item()
    found: set[tuple[str, int]] = set()
    step = trainer.method.step

    def seen(phase: str, given: dict[str, Batch], *rest: Any) -> Any:
        for stream, batch in given.items():
            # The median pixel of an image of the test is dark.
            found.update((stream, at) for at, view in enumerate(batch.views) if bool(view.median() > border))
        return step(phase, given, *rest)

    monkeypatch.setattr(trainer.method, "step", seen)
    trainer.run()
    assert found == STRONG.get(name, set())
