"""Where each value comes from."""

from __future__ import annotations

from lond.config import RunConfig
from lond.presets.options import COMMAND_LINE, stages
from lond.presets.provenance import Origin, origins


def by_key(found: dict[str, RunConfig]) -> dict[str, Origin]:
    return {origin.key: origin for origin in origins(found)}


def test_each_value_names_the_last_stage_that_changed_it() -> None:
    known = by_key(stages("", "mini80-sym50", "dividemix", epochs=12, overrides={"train.batch_size": "64"}))
    assert known["net.width"] == Origin("net.width", 0.5, 1.0, "preset mini80-sym50")
    assert known["optimiser.plan"] == Origin("optimiser.plan", "step", "cosine", "recipe dividemix")
    assert known["train.max_steps"].stage == known["method"].stage == "recipe dividemix"
    assert known["settings.warmup_epochs"] == Origin("settings.warmup_epochs", 4, 30, "--epochs")
    assert known["train.batch_size"] == Origin("train.batch_size", 64, 128, COMMAND_LINE)
    assert known["train.seed"] == Origin("train.seed", 0, 0, "")


def test_settings_of_another_method_do_not_count() -> None:
    """The preset's LOND-DRS has warm-up of 10 epochs, too; that of CIR+ is its recipe's."""
    known = by_key(stages("", "mini80-sym50", "cir-plus"))
    assert known["settings.warmup_epochs"] == Origin("settings.warmup_epochs", 10, 30, "recipe cir-plus")


def test_the_method_may_be_changed_at_last() -> None:
    known = by_key(stages("", "digits", "lond-drs", overrides={"method": "disc", "settings.hidden": "64"}))
    assert (known["method"].stage, known["settings.hidden"].stage) == (COMMAND_LINE, COMMAND_LINE)
    assert known["settings.warmup_epochs"].stage == ""
