"""Learning rates by hand, and the optimisers."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import nn

from lond.errors import ConfigError
from lond.train.schedule import OptimiserSettings, build_optimiser, learning_rate, set_rate

PAPER = OptimiserSettings()


def test_the_papers_plan() -> None:
    rates = [learning_rate(epoch, 300, PAPER) for epoch in range(300)]
    assert rates[:50] == [0.05] * 50
    assert rates[-1] == pytest.approx(5e-5)
    assert rates[49 + 125] == pytest.approx((0.05 + 5e-5) / 2)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates[49:]))
    for epoch in (50, 51, 200, 298):
        share = (epoch - 49) / 250
        assert rates[epoch] == pytest.approx(5e-5 + 0.5 * (0.05 - 5e-5) * (1 + math.cos(math.pi * share)))


def test_linear_by_hand() -> None:
    settings = OptimiserSettings(plan="linear", learning_rate=1.0, constant_epochs=2, final_rate=0.2)
    assert [learning_rate(epoch, 6, settings) for epoch in range(6)] == pytest.approx([1, 1, 1, 0.8, 0.6, 0.4])


def test_the_co_teaching_plan() -> None:
    """Adam, rate 1e-3 to epoch 80, then 1e-3 (200 - e) / 120; beta1 0.9, then 0.1."""
    settings = OptimiserSettings(
        "adam", 1e-3, weight_decay=0.0, plan="linear", constant_epochs=80, final_rate=0.0, late_momentum=0.1
    )
    optimiser = build_optimiser(nn.Linear(2, 2).parameters(), settings)
    for epoch in (0, 79, 80, 81, 199):
        rate = set_rate(optimiser, epoch, 200, settings)
        assert rate == pytest.approx(1e-3 * min(1, (200 - epoch) / 120))
        (group,) = optimiser.param_groups
        assert group["lr"] == rate
        assert group["betas"] == (0.9 if epoch < 80 else 0.1, 0.999)


def test_momentum_of_sgd_and_the_rate_of_the_constant_epochs() -> None:
    settings = OptimiserSettings(learning_rate=0.01, constant_rate=0.05, constant_epochs=2, late_momentum=0.5)
    optimiser = build_optimiser(nn.Linear(2, 2).parameters(), settings)
    assert [set_rate(optimiser, epoch, 4, settings) for epoch in range(3)] == pytest.approx(
        [0.05, 0.05, (0.01 + 5e-5) / 2]
    )
    assert optimiser.param_groups[0]["momentum"] == 0.5


def test_late_cosine_is_one_epoch_behind() -> None:
    late, usual = (OptimiserSettings(plan=plan, constant_epochs=2) for plan in ("late-cosine", "cosine"))
    rates = [learning_rate(epoch, 6, late) for epoch in range(6)]
    assert rates[:3] == [0.05] * 3
    assert rates[3:] == pytest.approx([learning_rate(epoch, 6, usual) for epoch in range(2, 5)])
    assert rates[4] == pytest.approx((0.05 + 5e-5) / 2)


def test_step_and_constant_by_hand() -> None:
    step = OptimiserSettings(plan="step", learning_rate=1.0, milestones=(3, 4))
    assert [learning_rate(epoch, 6, step) for epoch in range(6)] == pytest.approx([1, 1, 1, 0.1, 0.01, 0.01])
    # Milestones alone count: not the order they are named in, nor the constant epochs of other plans.
    other = OptimiserSettings(plan="step", learning_rate=1.0, milestones=(4, 3), constant_epochs=5)
    assert [learning_rate(epoch, 6, other) for epoch in range(6)] == [learning_rate(e, 6, step) for e in range(6)]
    hundredth = OptimiserSettings(plan="step", learning_rate=1.0, milestones=(3,), step_factor=0.01)
    assert [learning_rate(epoch, 8, hundredth) for epoch in (2, 3, 7)] == pytest.approx([1, 0.01, 0.01])
    assert learning_rate(0, 8, OptimiserSettings(plan="step", learning_rate=1.0, milestones=(0,))) == 0.1
    assert {learning_rate(epoch, 8, OptimiserSettings(plan="constant")) for epoch in range(8)} == {0.05}


@pytest.mark.parametrize("plan", ["cosine", "late-cosine", "linear"])
@pytest.mark.parametrize(("epochs", "constant"), [(1, 0), (5, 0), (5, 5), (5, 50), (6, 5)])
def test_short_runs(plan: str, epochs: int, constant: int) -> None:
    settings = OptimiserSettings(plan=plan, constant_epochs=constant)
    rates = [learning_rate(epoch, epochs, settings) for epoch in range(epochs)]
    assert all(5e-5 - 1e-12 <= rate <= 0.05 for rate in rates)
    assert rates[:constant] == [0.05] * min(constant, epochs)
    if epochs > constant and plan == "cosine":
        assert rates[-1] == pytest.approx(5e-5)


def test_optimisers_take_their_settings_and_only_what_learns() -> None:
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    sgd = build_optimiser(layer.parameters(), PAPER)
    assert isinstance(sgd, torch.optim.SGD)
    (group,) = sgd.param_groups
    assert (group["lr"], group["momentum"], group["nesterov"], group["weight_decay"]) == (0.05, 0.9, True, 5e-4)
    assert len(group["params"]) == 1
    plain = build_optimiser(layer.parameters(), OptimiserSettings(momentum=0.0))
    assert plain.param_groups[0]["nesterov"] is False
    adam = build_optimiser(layer.parameters(), OptimiserSettings("adam", 1e-3, momentum=0.8, weight_decay=0.0))
    assert isinstance(adam, torch.optim.Adam)
    assert adam.param_groups[0]["betas"] == (0.8, 0.999)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"name": "lion"}, "lion"),
        ({"plan": "saw"}, "saw"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"constant_epochs": -1}, "constant_epochs"),
        ({"constant_rate": 0.0}, "constant_rate"),
        ({"step_factor": 0.0}, "step_factor"),
        ({"plan": "step"}, "milestones"),
        ({"plan": "step", "milestones": (-1, 3)}, "milestones"),
        ({"plan": "cosine", "milestones": (3,)}, "milestones"),
        ({"plan": "constant", "milestones": (3,)}, "milestones"),
        ({"momentum": 1.0}, "momentum"),
        ({"late_momentum": -0.1}, "late_momentum"),
    ],
)
def test_settings_that_mean_nothing_are_refused(values: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        OptimiserSettings(**values)
