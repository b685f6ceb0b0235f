"""Estimated noise rates of sets whose noise is known."""

import json
import math

import pytest
import torch
from torch import Tensor

from lond.audit.rates.estimate import Rates, RateSettings, estimate_rates
from lond.audit.rates.intervals import wilson
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
    labels = torch.where(outside, torch.randint(0, 4, (count,), generator=draw), labels)
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


def test_confusions_in_the_labels_are_no_doubt_of_the_model() -> None:
    """Wrong labels that always are the next class, and differ by class."""
    draw = torch.Generator().manual_seed(0)
    odds = (3 * torch.randn(6000, 4, generator=draw)).softmax(dim=1).double()
    true = torch.multinomial(odds, 1, generator=draw).squeeze(1)
    turned = torch.rand(6000, generator=draw) < torch.tensor([0.6, 0.3, 0.3, 0.0])[true]
    labels = torch.where(turned, (true + 1) % 4, true)
    p_values = torch.rand(6000, generator=draw).double()
    rates = estimate_rates(labels, odds, [Verdict.CLEAN] * 6000, NAMES, p_values)
    assert rates.overall.closed is not None
    assert rates.overall.closed.estimate == pytest.approx(float((labels != true).double().mean()), abs=0.04)
    for label, name in enumerate(NAMES):
        own = labels == label
        found = rates.by_class[name].closed
        assert found is not None
        assert found.estimate == pytest.approx(float((true[own] != label).double().mean()), abs=0.06)


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
        share = (found.overall if "level" in settings else found.by_class["ant"]).open
        assert share is not None
        return share.high - share.low

    assert width(level=0.5) < width(level=0.99)
    assert width(cutoff=0.5) < width(cutoff=0.5, calibration=20)
    fixed = estimate_rates(labels, odds, verdicts, NAMES, p_values, RateSettings(cutoff=0.5)).by_class["ant"].open
    assert fixed is not None
    own = p_values[labels == 0]
    assert fixed.estimate == pytest.approx(1 - float((own > 0.5).double().mean()) / 0.5)
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
        assert rates.open == wilson(verdicts.count(Verdict.FOREIGN), 100)


def test_duplicate_conflicts_are_not_judged_but_counted() -> None:
    labels, odds = torch.tensor([0, 0]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    rates = estimate_rates(labels, odds, [Verdict.DUPLICATE_CONFLICT, Verdict.FOREIGN], ("a", "b")).overall
    assert rates.images == 2
    assert rates.open is not None and rates.open.estimate == 1


def test_nothing_to_count() -> None:
    empty = estimate_rates(torch.zeros(0, dtype=torch.long), torch.zeros(0, 2), [], ("a", "b"), torch.zeros(0))
    assert empty.as_dict()["closed"] is None and empty.as_dict()["open"] is None
    assert [entry["images"] for entry in empty.as_dict()["by_class"]] == [0, 0]
    nameless = estimate_rates(torch.tensor([UNLABELLED]), torch.zeros(1, 0), [Verdict.UNLABELLED], ())
    assert nameless.as_dict() == {"closed": None, "open": None, "by_class": []}
    foreign = estimate_rates(
        torch.tensor([0]), torch.ones(1, 1), [Verdict.FOREIGN], ("a",), torch.tensor([0.01])
    ).overall
    assert foreign.closed is None and foreign.open is not None


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


def test_a_label_without_missed_foreign_images_keeps_its_upper_end() -> None:
    draw = torch.Generator().manual_seed(0)
    odds = (4 * torch.randn(4000, 4, generator=draw)).softmax(dim=1).double()
    true = torch.multinomial(odds, 1, generator=draw).squeeze(1)
    labels = torch.where(torch.rand(4000, generator=draw) < 0.08, (true + 1) % 4, true)
    foreign = torch.rand(4000, generator=draw) < 0.25
    labels[foreign] = torch.randint(0, 3, (int(foreign.sum()),), generator=draw)
    p_values = torch.where(foreign, 0.1 + 0.4 * torch.rand(4000, generator=draw), torch.rand(4000, generator=draw))
    found = estimate_rates(labels, odds, [Verdict.CLEAN] * 4000, NAMES, p_values.double()).by_class["dog"].closed
    own = (labels == 3) & ~foreign
    assert found is not None
    assert found.low <= float((true[own] != 3).double().mean()) <= found.high
    assert found.high > found.low


def test_where_the_model_explains_no_label_nothing_is_said_of_foreign_images() -> None:
    draw = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (2000,), generator=draw)
    flat = torch.full((2000, 4), 0.25) + 0.001 * torch.rand(2000, 4, generator=draw)
    p_values = torch.rand(2000, generator=draw)
    rates = estimate_rates(labels, flat / flat.sum(dim=1, keepdim=True), [Verdict.CLEAN] * 2000, NAMES, p_values)
    assert rates.overall.open is None
    assert json.loads(json.dumps(rates.as_dict()))["open"] is None
