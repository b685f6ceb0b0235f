"""The fit of the network on tiny made-up sets whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.noise_bench import fit as fitting
from benchmarks.noise_bench.fit import Known, fit, fit_network, known, text_of, unseen_chances
from benchmarks.noise_bench.specs import drawn

from lond.crossfit.chances import ChanceTable, inputs, logits, table_of

SETS, EACH = 9, 60


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "BATCH", 64)


def made_up(seed: int) -> Known:
    """Return a set in which one column tells wrong labels, another foreign images, a third and the set nothing."""
    random = torch.Generator().manual_seed(seed)
    truth = torch.randint(0, 3, (EACH,), generator=random)
    noise = torch.randn(3, EACH, generator=random)
    doubt, far = 2.0 * (truth == 1) + 0.5 * noise[0], 2.0 * (truth == 2) + 0.5 * noise[1]
    whole = {"size": float(torch.rand(1, generator=random))}
    share = torch.rand(EACH, generator=random)
    image = {"doubt": doubt, "far": far, "idle": noise[2]}
    return Known(image, whole, share, ((truth == 1) & (share > 0.5)).numpy(), truth)


@pytest.fixture
def sets() -> list[Known]:
    return [made_up(seed) for seed in range(SETS)]


def said(own: Known, table: ChanceTable) -> torch.Tensor:
    return torch.softmax(logits(inputs(own.image, own.whole, table.image, table.whole), table), dim=1)


def test_the_network_tells_the_kinds_of_a_new_set_apart(sets: list[Known]) -> None:
    new, table = made_up(SETS), fit_network(sets)
    assert (said(new, table).argmax(dim=1) == new.truth).float().mean() > 0.9
    assert table.inner.shape == (4, fitting.HIDDEN) and table.weights.shape == (fitting.HIDDEN, 3)
    assert not any(getattr(table, name).requires_grad for name in fitting.NETWORK)


def test_columns_are_found_by_name(sets: list[Known]) -> None:
    turned = [sets[0], *(replace(own, image=dict(reversed(own.image.items()))) for own in sets[1:])]
    assert torch.equal(fit_network(turned).inner, fit_network(sets).inner)


def test_a_set_is_judged_by_a_network_without_it(sets: list[Known]) -> None:
    table = fit_network([own for place, own in enumerate(sets) if place not in (1, 5)])
    found = unseen_chances(sets)
    assert torch.equal(found[1], said(sets[1], table)) and torch.equal(found[5], said(sets[5], table))
    assert not torch.allclose(found[2], said(sets[2], table))


def test_the_fit_is_the_same_again_and_its_text_is_the_table(sets: list[Known]) -> None:
    found = fit(sets)
    assert found == fit(sets) and found["sets"] == SETS
    text = text_of(found)
    assert json.loads(text) == found and '"inner": [\n' in text
    table, network = table_of(json.loads(text)), fit_network(sets)
    assert (table.image, table.whole) == (("doubt", "far", "idle"), ("size",))
    for name in fitting.NETWORK:
        assert torch.allclose(getattr(table, name), getattr(network, name), rtol=1e-4)
    assert set(table.spread) == {"wrong", "foreign", "either"}
    # A suggestion is right where the label is wrong and the share large.
    assert table.suggestion[1] > 0 and table.suggestion[2] > 0


def test_every_set_counts_the_same() -> None:
    """Of two kinds of sets that contradict each other, one with a quarter of the images, neither prevails."""

    def flat(size: int, kind: int) -> Known:
        nothing = torch.zeros(size)
        return Known({"same": nothing}, {}, nothing, nothing.bool().numpy(), torch.full((size,), kind))

    sets = [flat(40, 0), flat(160, 1)] * 8
    clean, wrong, foreign = said(sets[0], fit_network(sets))[0].tolist()
    assert clean == pytest.approx(wrong, abs=0.1) and foreign < 0.2


def test_too_few_images_are_refused(sets: list[Known]) -> None:
    with pytest.raises(ValueError, match="60 images are too few to fit on: a step takes 64"):
        fit_network(sets[:1])


def test_evidence_is_kept_by_name_and_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Number 3 is a cell of images if six are drawn, one of made-up clusters if three are."""
    images, clusters = drawn(6)[3], drawn(3)[3]
    assert images.name == clusters.name and clusters.source == "clusters"
    nobody: Any = None
    first = known(clusters, nobody, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"drawn3-clusters.pt"}
    monkeypatch.setattr(fitting, "make", None)
    again = known(clusters, nobody, tmp_path)
    assert torch.equal(first.truth, again.truth) and first.whole == again.whole
    with pytest.raises(TypeError):
        known(images, nobody, tmp_path)
