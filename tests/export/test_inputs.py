"""What goes into a graph."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from export.export_samples import trained, trained_on_features
from torch import nn

from lond.export.inputs import FrozenStem, graph_input
from lond.frozen.samples import FrozenSettings
from lond.nets.backbones import Backbone


class Tiny(nn.Module):
    """A frozen network: means of the left and the right half."""

    input_mean, input_std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        half = images.shape[-1] // 2
        return torch.cat([images[..., :half].mean(dim=(2, 3)), images[..., half:].amax(dim=(2, 3))], dim=1)


def test_images_are_normalised_in_the_graph() -> None:
    run = trained().run
    takes = graph_input(run)
    assert (takes.name, takes.shape, takes.dtype) == ("images", (1, 8, 8), "uint8")
    images = torch.randint(0, 256, (3, 1, 8, 8), dtype=torch.uint8)
    assert torch.equal(takes.prepare(images), run.views.test(images))
    assert takes.example(5).shape == (5, 1, 8, 8) and takes.example().dtype == torch.uint8
    said = takes.describe()
    assert said["shape"] == ["batch", 1, 8, 8] and "short side to 8" in said["preprocessing"]
    assert "from pixel round((length - 8) / 2) on, halves to even" in said["preprocessing"]
    assert "grey" in said["preprocessing"] and said["in_the_graph"] == "normalisation"


def test_pictures_that_are_not_square_are_taken_as_they_are() -> None:
    run = trained().run
    takes = graph_input(replace(run, shape=replace(run.shape, size=(8, 6))))
    assert takes.shape == (1, 8, 6) and takes.before == "pictures of 8 x 6 pixels"


def test_features_go_in_as_they_are() -> None:
    run = trained_on_features().run
    takes = graph_input(run)
    assert (takes.name, takes.shape, takes.dtype) == ("features", (run.shape.size[1],), "float32")
    assert torch.equal(takes.prepare(takes.example()), takes.example())


@pytest.mark.parametrize("mirrored", [True, False])
def test_a_frozen_network_is_part_of_the_graph(mirrored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lond.export.inputs.frozen_backbone", lambda settings: Backbone(Tiny(), 6))
    settings = FrozenSettings(backbone="tiny", size=16, mirrored=mirrored)
    run = SimpleNamespace(config=SimpleNamespace(data=SimpleNamespace(frozen=settings)), shape=None)
    takes = graph_input(run)  # type: ignore[arg-type]
    assert (takes.name, takes.shape, takes.dtype) == ("images", (3, 16, 16), "uint8")
    assert "RGB" in takes.before and "short side to 16" in takes.before and takes.inside == "normalisation and tiny"
    run.config.data.frozen = replace(settings, whole=True)
    assert "long side to 16" in (before := graph_input(run).before) and "with 128 to a square" in before  # type: ignore[arg-type]
    run.config.data.frozen = replace(settings, squares_beyond=2)
    both = graph_input(run).before  # type: ignore[arg-type]
    assert "short side to 16" in both and "more than 2 times as long as its short side: also cut out a square" in both
    images = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (Tiny.input_mean, Tiny.input_std))
    views = [images, images.flip(-1)] if mirrored else [images]
    expected = torch.stack([Tiny()((view.float() / 255 - mean) / std) for view in views]).mean(dim=0)
    assert torch.allclose(takes.prepare(images), expected, atol=1e-6)
    assert isinstance(takes.prepare, FrozenStem)
