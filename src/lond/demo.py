"""Demonstration on scikit-learn's digits: compare plain cross-entropy with LOND-DRS, and audit the same labels.

8 and 9 are unknown, 40 % of the labels of the other digits are wrong, and every 8 and 9 in the training set carries a
random known label. Nothing is downloaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from lond.audit.result import Audit
from lond.audit.run import audit
from lond.errors import LondError
from lond.evaluate.verdicts import true_verdicts
from lond.presets.benchmarks import preset
from lond.results.compare import STORE, Comparison, compare, write_tables
from lond.results.jobs import plan
from lond.results.report import write_report
from lond.runs import VERDICTS, load_data
from lond.train.runtime import RuntimeSettings
from lond.types import Request, Verdict

METHODS = ("standard", "lond-drs")
REPORT = "report.html"
AUDIT = "audit"
"""Folder of the audit, below that of the demonstration."""
TITLE = "Digits with unreliable labels"
DATA = "scikit-learn's digits; 8 and 9 are unknown; 40 % of the known digits' labels are wrong, at random"

TITLES = {
    "accuracy": "accuracy on known digits",
    "auroc": "AUROC of foreign digits",
    "fpr95": "FPR95 (lower is better)",
    **{
        f"verdict_{verdict}_{part}": f"verdict {verdict}: {part}"
        for verdict in ("clean", "mislabelled", "foreign")
        for part in ("precision", "recall")
    },
}
"""Metrics of the demonstration, with their titles in the table."""


def run_demo(
    folder: Path,
    seeds: Sequence[int],
    threads: int = 0,
    say: Callable[[str], None] = lambda text: None,
    *,
    accelerator: str = "auto",
) -> Comparison:
    """Train both methods with every seed, write tables and report; finished runs are not repeated.

    Raises:
        LondError: a run failed.
    """
    jobs = plan({method: preset("digits", method) for method in METHODS}, seeds, folder)
    found = compare(jobs, TITLE, folder / STORE, runtime=RuntimeSettings(accelerator, threads=threads), say=say)
    if found.problems:
        raise LondError("; ".join(f"{run}: {problem}" for run, problem in found.problems.items()))
    found = replace(found, metrics=tuple(TITLES))
    write_tables(found, folder)
    verdicts = folder / f"{METHODS[-1]}-seed{seeds[0]}" / VERDICTS
    write_report(folder / REPORT, found, subtitle(seeds), TITLES, load_data(jobs[0].config)[0], verdicts)
    return found


def subtitle(seeds: Sequence[int]) -> str:
    """Return what the values are of: the data, and how many seeds."""
    return f"{DATA}. {'One training seed.' if len(seeds) == 1 else f'Means of {len(seeds)} training seeds.'}"


def audit_demo(
    folder: Path, threads: int = 0, *, accelerator: str = "auto"
) -> tuple[Audit, Counter[tuple[Verdict, Verdict]]]:
    """Audit the training set of the comparison, write table and review page, and count (truth, verdict).

    The pixels serve as features: digits this small need no frozen network, and nothing has to be installed besides.
    """
    samples = load_data(preset("digits", METHODS[-1]))[0]
    assert samples.true_labels is not None
    (pixels,) = samples.pixels.stream([Request(torch.arange(len(samples)))])
    features = pixels[0].flatten(1).float() / 255
    runtime = RuntimeSettings(accelerator, threads=threads)
    found = replace(audit(samples, embeddings=features, runtime=runtime), title=TITLE)
    found.save(folder / AUDIT)
    truth = true_verdicts(samples.labels, samples.true_labels)
    return found, Counter(zip(truth, map(Verdict, found.table.verdict), strict=True))
