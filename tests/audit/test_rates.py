"""Estimated noise rates of sets whose noise is known, and what is mixed up with what."""

import json
import math

import pytest
import torch
from torch import Tensor

from lond.audit.rates import Rates, RateSettings, confusions, estimate_rates
from lond.errors import ConfigError, DataError
from lond.types import UNLABELLED, Verdict

NAMES = ("ant", "bee", "cat", "dog")


def simulate(count: int, closed: float, foreign: float, seed: int) -> tuple[Tensor, Tensor, list[str], Tensor]:
    """Return labels, probabilities, verdicts and p-values of a set with known rates, seen by a calibrated model."""
    draw = torch.Generator().manual_seed(seed)
    odds = (3 * torch.randn(count, 4, generator=draw)).softmax(dim=1).double()
    true = torch.multinomial(odds, 1, generator=draw).squeeze(1)
    other = (true + torch.randint(1, 4, (count,), generator=draw)) % 4
    labels = torch.where(torch.rand(count, generator=draw) < closed, other, true)
    outside = torch.rand(count, generator=draw) < foreign
    p_values = torch.rand(count, generator=draw).double() * torch.where(outside, 0.04, 1.0)
    wrong = odds.argmax(dim=1) != labels
    verdicts = [
        str(Verdict.FOREIGN if p <= 0.05 else Verdict.MISLABELLED if is_wrong else Verdict.CLEAN)
        for p, is_wrong in zip(p_values.tolist(), wrong.tolist(), strict=True)
    ]
    return labels, odds, verdicts, p_values


def rates_of(count: int, closed: float, foreign: float, seed: int = 0) -> Rates:
    labels, odds, verdicts, p_values = simulate(count, closed, foreign, seed)
    return estimate_rates(labels, odds, verdicts, NAMES, p_values)


@pytest.mark.parametrize(("closed", "foreign"), [(0.2, 0.1), (0.0, 0.0), (0.1, 0.4)])
def test_simulated_rates_are_found(closed: float, foreign: float) -> None:
    found = [rates_of(800, closed, foreign, seed).overall for seed in range(20)]
    holds = {"closed": 0, "open": 0}
    for rates in found:
        assert rates.closed is not None and rates.open is not None
        holds["closed"] += rates.closed.low <= closed <= rates.closed.high
        holds["open"] += rates.open.low <= foreign <= rates.open.high
    assert min(holds.values()) >= 16
    assert sum(r.closed.estimate for r in found if r.closed) / 20 == pytest.approx(closed, abs=0.03)
    assert sum(r.open.estimate for r in found if r.open) / 20 == pytest.approx(foreign, abs=0.03)


def test_the_other_estimates_lean_as_documented() -> None:
    rates = rates_of(2000, 0.1, 0.0).overall
    others = [rates.closed_by_verdict, rates.closed_by_probability, rates.open_by_verdict]
    verdict, probability, foreign = (other.estimate for other in others if other is not None)
    assert 0.1 < verdict < probability
    assert foreign == pytest.approx(0.05, abs=0.02)


def test_rates_by_class_and_as_a_dictionary() -> None:
    labels, odds, verdicts, p_values = simulate(400, 0.2, 0.1, 3)
    # "dog" has no image, "cat" has one.
    labels = torch.where(labels == 3, 0, labels)
    labels[labels == 2] = 1
    labels[0] = 2
    rates = estimate_rates(labels, odds, verdicts, NAMES, p_values).as_dict()
    assert set(rates) == {"closed", "open", "by_class"}
    assert set(rates["closed"]) == set(rates["open"]) == {"estimate", "low", "high"}
    entries = {entry["class"]: entry for entry in rates["by_class"]}
    assert list(entries) == list(NAMES)
    assert entries["dog"] == {"class": "dog", "images": 0, "closed": None, "open": None}
    assert sum(entry["images"] for entry in entries.values()) == 400
    assert entries["cat"]["images"] == 1
    for name in ("cat", "ant"):
        width = entries[name]["open"]["high"] - entries[name]["open"]["low"]
        assert (width > 0.5) == (name == "cat")
    assert json.loads(json.dumps(rates, allow_nan=False)) == rates


def test_the_same_seed_gives_the_same_rates_and_another_nearly_so() -> None:
    data = simulate(300, 0.2, 0.1, 0)
    labels, odds, verdicts, p_values = data
    one, again, other = (
        estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(seed=seed)) for seed in (0, 0, 1)
    )
    assert one == again != other
    assert one.overall.open and other.overall.open
    assert one.overall.open.estimate == pytest.approx(other.overall.open.estimate, abs=0.1)


def test_settings_are_used() -> None:
    labels, odds, verdicts, p_values = simulate(300, 0.2, 0.2, 0)

    def width(**settings: float) -> float:
        found = estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(**settings))  # type: ignore[arg-type]
        assert found.overall.open is not None
        return found.overall.open.high - found.overall.open.low

    assert width(level=0.5) < width(level=0.99)
    assert width(cutoff=0.5) < width(cutoff=0.5, calibration=20)
    fixed = estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(cutoff=0.5)).overall.open
    assert fixed is not None
    assert fixed.estimate == pytest.approx(1 - float((p_values > 0.5).double().mean()) / 0.5)
    for wrong in ({"level": 1.0}, {"cutoff": 0.0}, {"calibration": 0}):
        with pytest.raises(ConfigError):
            RateSettings(**wrong)  # type: ignore[arg-type]


def test_unlabelled_and_unreadable_images_do_not_count() -> None:
    labels, odds, verdicts, p_values = simulate(200, 0.2, 0.1, 0)
    plain = estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(cutoff=0.2))
    labels = torch.cat([labels, torch.tensor([UNLABELLED, UNLABELLED, 1])])
    odds = torch.cat([odds, torch.full((3, 4), math.nan).double()])
    p_values = torch.cat([p_values, torch.tensor([0.001, math.nan, math.nan]).double()])
    verdicts = [*verdicts, Verdict.FOREIGN, Verdict.UNLABELLED, Verdict.UNREADABLE]
    assert estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(cutoff=0.2)) == plain


def test_without_p_values_the_verdicts_tell() -> None:
    labels, odds, verdicts, _ = simulate(100, 0.2, 0.2, 0)
    for p_values in (None, torch.full((100,), math.nan)):
        rates = estimate_rates(labels, odds, verdicts, NAMES, p_values).overall
        assert rates.open == rates.open_by_verdict is not None


def test_duplicate_conflicts_are_not_judged_but_counted() -> None:
    labels, odds = torch.tensor([0, 0]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    rates = estimate_rates(labels, odds, [Verdict.DUPLICATE_CONFLICT, Verdict.MISLABELLED], ("a", "b")).overall
    assert rates.images == 2
    assert rates.closed_by_verdict is not None and rates.closed_by_verdict.estimate == 1
    assert rates.closed_by_probability is not None and rates.closed_by_probability.estimate == 0


def test_nothing_to_count() -> None:
    empty = estimate_rates(torch.zeros(0, dtype=torch.long), torch.zeros(0, 2), [], ("a", "b"), torch.zeros(0))
    assert empty.as_dict()["closed"] is None and empty.as_dict()["open"] is None
    assert [entry["images"] for entry in empty.as_dict()["by_class"]] == [0, 0]
    nameless = estimate_rates(torch.tensor([UNLABELLED]), torch.zeros(1, 0), [Verdict.UNLABELLED], ())
    assert nameless.as_dict() == {"closed": None, "open": None, "by_class": []}
    foreign = estimate_rates(
        torch.tensor([0]), torch.ones(1, 1), [Verdict.FOREIGN], ("a",), torch.tensor([0.01])
    ).overall
    assert foreign.closed is None and foreign.closed_by_verdict is None and foreign.open is not None


def test_wrong_input_is_refused() -> None:
    clean = [Verdict.CLEAN]
    with pytest.raises(DataError, match="one entry an image"):
        estimate_rates(torch.tensor([0, 1]), torch.ones(1, 2), clean, ("a", "b"))
    with pytest.raises(DataError, match="2 columns"):
        estimate_rates(torch.tensor([0]), torch.ones(1, 3), clean, ("a", "b"))
    with pytest.raises(DataError, match="positions"):
        estimate_rates(torch.tensor([2]), torch.ones(1, 2), clean, ("a", "b"))
    with pytest.raises(DataError, match="must differ"):
        estimate_rates(torch.tensor([0]), torch.ones(1, 2), clean, ("a", "a"))
    with pytest.raises(DataError, match="not a number"):
        estimate_rates(torch.tensor([0]), torch.full((1, 2), math.nan), clean, ("a", "b"))


def test_rates_by_class_may_have_p_values_of_their_own() -> None:
    labels, verdicts = torch.arange(400) % 2, [Verdict.CLEAN] * 400
    probabilities = torch.nn.functional.one_hot(labels, 2).float()
    even = (torch.arange(400.0) + 1) / 401
    skewed = even / 100
    plain = estimate_rates(labels, probabilities, verdicts, ("a", "b"), skewed)
    own = estimate_rates(labels, probabilities, verdicts, ("a", "b"), skewed, class_p_values=even)
    assert own.overall == plain.overall
    assert plain.by_class["a"].open.estimate == 1
    assert own.by_class["a"].open.estimate < 0.1


def test_confusions() -> None:
    given = torch.tensor([2, 2, 3, 2, 0, UNLABELLED, 1, 3])
    suggested = torch.tensor([3, 3, 2, 1, 1, 2, -1, 2])
    verdicts = ["mislabelled"] * 7 + ["foreign"]
    expected = [
        {"given": "cat", "suggested": "dog", "images": 2},
        {"given": "ant", "suggested": "bee", "images": 1},
        {"given": "cat", "suggested": "bee", "images": 1},
        {"given": "dog", "suggested": "cat", "images": 1},
    ]
    assert confusions(given, suggested, verdicts, NAMES) == expected
    assert confusions(given, suggested, verdicts, NAMES, most=1) == expected[:1]
    assert confusions(given, suggested, verdicts, NAMES, most=0) == []
    assert confusions(given[:0], suggested[:0], [], NAMES) == []
