"""Tables of mini80 on the page on results are those of the stored figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.mini80 import Trial, trials
from benchmarks.mini80_table import (
    PAGE,
    details_table,
    entry,
    filled,
    long_table,
    methods_table,
    savings_table,
    stored_tables,
)

ROOT = Path(__file__).parents[2]


def line(method: str, accuracy: float, seed: int = 0, **changes: Any) -> dict[str, Any]:
    made = {"group": "methods", "noise": "sym50", "method": method, "label": "", "seed": seed, "accuracy": accuracy}
    return made | {"auroc": 0.5, "corrected_accuracy": 0.25, "curves": {"accuracy": [0.7, accuracy]}} | changes


def test_means_and_deviations_by_hand() -> None:
    assert entry([]) == "-" and entry([line("a", 0.5)]) == "50.0 / 50.0"
    assert entry([line("a", 0.5), line("a", 0.52, 1)]) == "51.0 ± 1.4 / 50.0 ± 0.0 (2)"


def test_methods_beside_version_0_1_0() -> None:
    rows = methods_table(
        [line("lond-drs", 0.6), line("lond-drs", 0.6, noise="asym40")],
        [line("lond-drs", 0.5), line("ngc", 0.4), line("unicon", 0.4)],
    ).splitlines()[2:]
    assert rows == [
        "| `lond-drs` | 60.0 / 50.0 | 50.0 / 50.0 | 60.0 / 50.0 | - |",
        "| `ngc` | 40.0 / 50.0 | as today | - | as today |",
        "| `unicon` | - | 40.0 / 50.0 | - | - |",
    ]


def test_other_tables_by_hand() -> None:
    released = line("lond-drs", 0.4, group="details", label="released")
    assert details_table([line("lond-drs", 0.6), line("lond-drs", 0.9, 2), released]).splitlines()[2:] == [
        "| ours | 60.0 / 50.0; corrected labels right 25.0 | - |",
        "| released program | 40.0 / 50.0; corrected labels right 25.0 | - |",
    ]
    longer = [line("sed", 0.4, group="long"), line("sed", 0.3, group="long, short plan")]
    longer += [line("ngc", 0.3, noise="asym40", group="long, short plan")]
    assert long_table(longer).splitlines()[2:] == [
        "| `sed` | 40.0 / 50.0, peak 70.0 | - |",
        "| `ngc` | - | 30.0 / 50.0, peak 70.0 * |",
    ]


def test_savings_by_hand() -> None:
    def saved(method: str, accuracy: float, noise: str = "sym50", **savings: str) -> dict[str, Any]:
        changes = {f"settings.savings.{name}": value for name, value in savings.items()}
        return line(method, accuracy, noise=noise, group="savings", changes=changes)

    lines = [
        saved("lond-drs-fast", 0.2, survey_targets="true"),
        saved("lond-drs-fast", 0.3, "asym40", survey_targets="true"),
        saved("lond-drs", 0.4, one_view_targets="true", contrast_every="4"),
        saved("lond-drs", 0.5, contrast_every="4"),
        line("lond-drs", 0.6),
        line("cross-fit", 0.7, group="savings", changes={"settings.strong_views": "false"}),
    ]
    assert savings_table(lines).splitlines()[2:] == [
        "| `lond-drs` | 60.0 / 50.0 | - |",
        "| `lond-drs`, `contrast_every=4` | 50.0 / 50.0 | - |",
        "| `lond-drs`, `one_view_targets`, `contrast_every=4` | 40.0 / 50.0 | - |",
        "| `lond-drs-fast` | - | - |",
        "| `lond-drs-fast`, `survey_targets` | 20.0 / 50.0 | 30.0 / 50.0 |",
        "| `cross-fit` | - | - |",
        "| `cross-fit`, `strong_views=false` | 70.0 / 50.0 | - |",
    ]


def test_trials_have_names_and_commands_of_their_own() -> None:
    names = [trial.name for trial in trials()]
    assert len(names) == len(set(names))
    trial = Trial("savings", "sym50", "lond-drs", 1, {"settings.savings.identify_every": "2"}, "identify-every")
    words = trial.command(Path("data"), Path("runs") / trial.name)
    assert trial.name == "sym50-lond-drs-identify-every-seed1"
    assert words[-2:] == ["--set", "settings.savings.identify_every=2"] and "mini80-sym50" in words


def test_the_page_shows_what_is_stored() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert filled(page, stored_tables(ROOT)) == page
