from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.made_up import small_world
from benchmarks.noise_bench.cells import Cell, make
from benchmarks.noise_bench.specs import PEOPLE_50, Spec, cells, drawn_wider

WORLD = small_world()


def made(**values: object) -> Cell:
    base = Spec("small", "cifar", 10, 20)
    return make(replace(base, **values), WORLD)  # type: ignore[arg-type]


def rows_in(features: np.ndarray, source: np.ndarray) -> int:
    known = {row.tobytes() for row in source}
    return sum(row.tobytes() in known for row in features)


@pytest.mark.parametrize("part", ["tune", "judge"])
@pytest.mark.parametrize("spec", cells("judge"), ids=lambda spec: spec.name)
def test_every_listed_cell_can_be_made(spec: Spec, part: str) -> None:
    cell = make(replace(spec, part=part), WORLD)  # type: ignore[arg-type]
    assert len(cell.features) == len(cell.given) == len(cell.true) == len(cell.scored)
    assert cell.given.min() >= 0 and cell.given.max() < cell.classes and cell.true.max() < cell.classes
    if spec.source != "people":
        wrong = (cell.true >= 0) & (cell.true != cell.given)
        assert ((cell.true < 0).mean() > 0) == (spec.foreign > 0)
        assert wrong.any() == (spec.family != "none")


def test_a_cell_is_a_function_of_its_spec() -> None:
    one, other = made(family="uniform", wrong=0.3), made(family="uniform", wrong=0.3)
    assert (one.features == other.features).all() and (one.given == other.given).all()
    assert not (made(family="uniform", wrong=0.3, seed=1).given == one.given).all()


def test_the_share_of_foreign_images_is_of_the_whole_set() -> None:
    assert abs((made(foreign=0.2).true < 0).mean() - 0.2) < 0.01


@pytest.mark.parametrize("source", ["cifar", "tiny", "digits"])
@pytest.mark.parametrize("far", [False, True])
def test_no_test_image_is_a_training_image(source: str, far: bool) -> None:
    cell = made(source=source, classes=8, foreign=0.2, far=far and source != "digits")
    assert len(cell.test_features) and (cell.test_true < 0).any()
    assert rows_in(cell.test_features, cell.features) == 0


@pytest.mark.parametrize("source", ["cifar", "tiny", "digits", "people"])
def test_the_known_images_of_the_parts_are_apart(source: str) -> None:
    one, other = (
        made(source=source, part=part, classes=8, family="people" if source == "people" else "none", wrong=1.0)
        for part in ("tune", "judge")
    )
    assert rows_in(one.features, other.features) == 0


def test_a_long_tail_has_classes_of_very_different_size() -> None:
    sizes = np.bincount(made(tail=2.5, per_class=20).true)
    assert sizes.max() == 20 and sizes.min() == 8


def test_human_labels_are_given_as_people_gave_them() -> None:
    cell = made(source="people", classes=25, per_class=1000, family="people", wrong=1.0, foreign=1.0)
    said = dict(zip((WORLD.cifar.features[at].tobytes() for at in WORLD.human_index), WORLD.human_label, strict=True))
    assert all(said[row.tobytes()] == 25 + given for row, given in zip(cell.features, cell.given, strict=True))
    assert (cell.true < 0).any() and ((cell.true >= 0) & (cell.true != cell.given)).any()


def test_mistakes_of_people_can_be_repaired() -> None:
    cell = made(source="people", classes=25, per_class=1000, family="people", wrong=0.0, foreign=0.0)
    assert (cell.true == cell.given).all()


def test_of_both_halves_of_human_labels_only_the_one_not_tuned_on_is_scored() -> None:
    cell = make(replace(PEOPLE_50, part="judge"), WORLD)
    assert cell.classes == 50 and (cell.scored == (cell.given >= 25)).all()


@pytest.mark.parametrize("spec", drawn_wider(40), ids=lambda spec: f"{spec.name}-{spec.source}")
def test_every_wider_cell_can_be_made(spec: Spec) -> None:
    cell = make(replace(spec, classes=min(spec.classes, 10)), WORLD)
    assert np.isfinite(cell.features).all() and len(cell.features) == len(cell.given) == len(cell.true)


@pytest.mark.parametrize("source", ["cifar", "people", "mnist"])
def test_ease_moves_images_towards_their_class_or_adds_noise_but_keeps_labels(source: str) -> None:
    def of(ease: float) -> Cell:
        share = 1.0 if source == "people" else 0.2
        family = "people" if source == "people" else "uniform"
        return made(source=source, classes=8, family=family, wrong=share, foreign=share, ease=ease)

    plain, easy, hard = of(0.0), of(0.5), of(-1.0)
    for other in (easy, hard):
        assert (plain.given == other.given).all() and (plain.true == other.true).all()
    mine = plain.true == 0
    mean = plain.features[mine].mean(axis=0)
    assert np.allclose(easy.features[mine], (plain.features[mine] + mean) / 2, atol=1e-5)
    noise = (hard.features - plain.features) / plain.features.std(axis=0)
    assert abs(noise.std() - 1) < 0.05 and abs(noise.mean()) < 0.05


def test_foreign_images_move_towards_their_own_classes() -> None:
    plain, easy = (made(foreign=0.3, far=True, ease=ease) for ease in (0.0, 1.0))
    foreign = plain.true < 0
    assert len(np.unique(easy.features[foreign].round(4), axis=0)) > 1
    assert len(np.unique(easy.features[~foreign].round(4), axis=0)) == 10
