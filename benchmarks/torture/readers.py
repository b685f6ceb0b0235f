"""Read damaged files of every kind: each must be refused in one line, or give what the whole file gives."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.torture.damage import ANY, CSV, JSON, Damage, damaged
from benchmarks.torture.world import make_world
from PIL import Image

from lond.audit import Audit, plan_corrections, read_audit, read_decisions
from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.options import ReadOptions
from lond.data.read.cifar import load_cifar
from lond.data.read.embeddings import read_embeddings
from lond.data.read.files import load_into_memory
from lond.data.sources import load
from lond.data.squares import unreadable
from lond.data.views import ViewSettings
from lond.errors import LondError
from lond.frozen.cache import ContentCache
from lond.methods import StandardSettings
from lond.results import record_of, scan
from lond.results.store import write
from lond.runs import load_run, load_trained, save_calibration, train_samples
from lond.runs.calibration import calibrate_scores
from lond.train.loop import TrainSettings

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests/fixtures/v0.1.0"
"""Files that version 0.1.0 wrote."""

HASHES = [f"{number:064x}" for number in range(6)]


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it lies, what may happen to it, and how it is read into something to compare.

    ``sealed`` files carry a hash or check sum: no damage may give another answer. Others are text that people may
    edit, where a changed value is a changed value.
    """

    name: str
    path: str
    damages: tuple[Damage, ...]
    read: Callable[[Path], Any]
    sealed: bool = False


def _predict(folder: Path, *, run: str) -> Any:
    loaded = load_run(folder / run)
    images = np.load(OLD / "inputs/images.npz")["x_test"][:8] if run == "old" else _images()
    prediction = loaded.predict(loaded.read(images))
    return prediction.scores.tolist(), loaded.threshold, loaded.shape, loaded.calibration is None


def _images() -> Any:
    return np.arange(8 * 64, dtype=np.uint8).reshape(8, 8, 8)


def _trained(folder: Path) -> Any:
    trained = load_trained(folder / "run")
    return trained.result.metrics, trained.verdicts


def _record(folder: Path) -> Any:
    record = record_of(folder / "run")
    return record.metrics, record.curves, record.identity, record.verdicts


def _store(folder: Path) -> Any:
    records, unusable = scan(folder / "store")
    if unusable:
        raise LondError(unusable[0].reason)
    return records


def _samples(path: Path) -> Any:
    samples = load(path, options=ReadOptions(size=8, channels=1, num_workers=0))
    return samples.labels.tolist(), samples.class_names, samples.ids, samples.pixels.fingerprint()


def _pictures(folder: Path) -> Any:
    samples = load(folder / "photos", options=ReadOptions(size=8, channels=1, num_workers=0))
    images = load_into_memory(samples.pixels)
    if unreadable(samples.pixels) or samples.problems:
        raise LondError("listed as unreadable")
    return images.fingerprint()


def _embeddings(folder: Path, *, name: str) -> Any:
    return read_embeddings(folder / name, ("a", "b", "c")).values.tolist()


def _cache(folder: Path) -> Any:
    cache = ContentCache(folder / "cache", "key")
    if cache.known() != frozenset(HASHES):
        raise LondError("computed again")
    return cache.load(HASHES, "rows").tolist(), [cache.blob(name, "blobs") for name in HASHES]  # type: ignore[union-attr]


def _corrected(folder: Path, *, name: str) -> Any:
    return plan_corrections(read_audit(folder / "audit" / name)).describe()


def _audit(folder: Path) -> Any:
    found = Audit.load(folder / "audit")
    return found.summary, found.table, found.positions


def _cifar(folder: Path) -> Any:
    samples = load_cifar(folder / "cifar-10-batches-py")
    return samples.labels.tolist(), samples.class_names, samples.pixels.fingerprint()


def kinds() -> list[Kind]:
    """Return every kind of file that the package reads."""
    return [
        Kind("checkpoint", "run/checkpoint.safetensors", ANY, partial(_predict, run="run"), sealed=True),
        Kind("decision", "run/decision.safetensors", ANY, partial(_predict, run="run"), sealed=True),
        Kind("configuration of a run", "run/config.json", JSON, partial(_predict, run="run"), sealed=True),
        Kind("manifest of a run", "run/manifest.json", JSON, partial(_predict, run="run"), sealed=True),
        Kind("metrics of a run", "run/metrics.json", JSON, _trained, sealed=True),
        Kind("verdicts of a run", "run/verdicts.csv", CSV, _trained),
        Kind("log of a run", "run/log.jsonl", ANY, _record),
        Kind("metrics for a record", "run/metrics.json", JSON, _record, sealed=True),
        Kind("checkpoint of version 0.1.0", "old/checkpoint.safetensors", ANY, partial(_predict, run="old")),
        Kind("decision of version 0.1.0", "old/decision.safetensors", ANY, partial(_predict, run="old")),
        Kind("record of a store", "store/record.json", JSON, _store),
        Kind("features", "cache/features.safetensors", ANY, _cache, sealed=True),
        Kind("images as .npz", "images.npz", ANY, lambda folder: _samples(folder / "images.npz"), sealed=True),
        Kind("table of images", "table.csv", CSV, lambda folder: _samples(folder / "table.csv")),
        Kind("image file", "photos/a/0.png", ANY, _pictures),
        Kind("CIFAR file", "cifar-10-batches-py/data_batch_1", ANY, _cifar),
        Kind("embeddings as .npz", "e.npz", ANY, partial(_embeddings, name="e.npz"), sealed=True),
        Kind("embeddings as .npy", "e.npy", ANY, partial(_embeddings, name="e.npy")),
        Kind("embeddings as Parquet", "e.parquet", ANY, partial(_embeddings, name="e.parquet")),
        Kind("audit as CSV", "audit/audit.csv", CSV, partial(_corrected, name="audit.csv")),
        Kind("audit as Parquet", "audit/audit.parquet", ANY, partial(_corrected, name="audit.parquet")),
        Kind("summary of an audit", "audit/summary.json", JSON, _audit),
        Kind("page of an audit", "audit/audit.html", ANY, _audit),
        Kind("decisions", "decisions.csv", CSV, lambda folder: read_decisions(folder / "decisions.csv")),
    ]


def make_files(folder: Path) -> None:
    """Write one whole file of every kind."""
    folder.mkdir(parents=True, exist_ok=True)
    _make_run(folder / "run", folder / "store")
    shutil.copytree(OLD / "runs/standard", folder / "old")
    shutil.copytree(OLD / "audit", folder / "audit")
    make_world(folder / "world")
    shutil.copy(folder / "world/images.npz", folder)
    stored = ContentCache(folder / "cache", "key")
    stored.store(HASHES, {"rows": np.arange(12, dtype=np.float16).reshape(6, 2)}, {"blobs": [b"x" * 9] * 6})
    next(stored.folder.glob("*.safetensors")).rename(stored.folder / "features.safetensors")
    for number in range(3):
        path = folder / "photos" / "abc"[number] / "0.png"
        path.parent.mkdir(parents=True)
        Image.fromarray(np.full((8, 8), 60 * number, np.uint8)).save(path)
    rows = "".join(f"photos/{'abc'[number]}/0.png,{'xy'[number % 2]},row{number}\n" for number in range(3))
    (folder / "table.csv").write_text(f"path,label,id\n{rows}")
    _make_embeddings(folder)
    _make_cifar(folder / "cifar-10-batches-py")
    (folder / "decisions.csv").write_text("id,decision,new_label\na,relabel,cat\nb,accept,\nc,,\n")


def _make_run(folder: Path, store: Path) -> None:
    labels = np.arange(24) % 3
    config = RunConfig(
        data=DataSettings(source="memory"), net=NetSettings(width=0.05), views=ViewSettings(padding=1, flip=False),
        method="standard", settings=StandardSettings(), train=TrainSettings(epochs=1, batch_size=8, average_last=1),
    )  # fmt: skip
    images = np.random.default_rng(0).integers(0, 255, (24, 8, 8), np.uint8)
    train_samples(config, load((images, labels)), None, folder, show_progress=False)
    save_calibration(folder, calibrate_scores(torch.linspace(0, 1, 60), 0.05, "checked images"))
    written = write(store, record_of(folder))
    written.path.rename(store / "record.json")


def _make_embeddings(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.savez(folder / "e.npz", embeddings=values, ids=np.array(["a", "b", "c"]))
    np.save(folder / "e.npy", values)
    table = pyarrow.table({"id": ["a", "b", "c"], "embedding": values.tolist()})
    pyarrow.parquet.write_table(table, folder / "e.parquet")


def _make_cifar(folder: Path) -> None:
    folder.mkdir()
    names = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
    for name in names:
        content = {"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 0, 1]}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["x", "y"]}, protocol=2))


def try_damage(kind: Kind, folder: Path, whole: Any, seed: int) -> tuple[str, str]:
    """Damage a file, read it, mend it; return the outcome and a word on it.

    The outcome is "refused", "same" (as the whole file), "changed" (another answer) or "trace" (an error that a user
    would see as a trace, or a message of more than one line).
    """
    path = _find(folder, kind)
    content = path.read_bytes()
    name, changed = damaged(content, kind.damages, seed)
    path.write_bytes(changed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = _frozen(kind.read(folder))
    except LondError as error:
        return ("refused", name) if "\n" not in str(error) else ("trace", f"{name}: several lines: {error}"[:300])
    except Exception as error:  # whatever it is, a user would see it as a trace
        return "trace", f"{name}: {type(error).__name__}: {error}"[:300]
    finally:
        path.write_bytes(content)
    return ("same", name) if answer == whole else ("changed", name)


def _find(folder: Path, kind: Kind) -> Path:
    path = folder / kind.path
    return path if path.is_file() else next((folder / kind.path).parent.rglob(path.name))


def _frozen(value: Any) -> str:
    """Return an answer as text, in which NaN equals NaN."""
    return json.dumps(value, default=repr, sort_keys=True)


@cache
def whole_answer(kind: Kind, folder: Path) -> str:
    """Return what a whole file gives."""
    return _frozen(kind.read(folder))


def torture(folder: Path, versions: int, first: int = 0) -> dict[str, Any]:
    """Read ``versions`` damaged versions of every kind of file; return what happened."""
    make_files(folder)
    table, bad = {}, []
    for kind in kinds():
        whole, counts = whole_answer(kind, folder), Counter[str]()
        for seed in range(first, first + versions):
            outcome, word = try_damage(kind, folder, whole, seed)
            wrong = outcome == "trace" or (outcome == "changed" and kind.sealed)
            counts["wrong" if outcome == "changed" and kind.sealed else outcome] += 1
            if wrong:
                bad.append({"kind": kind.name, "seed": seed, "outcome": outcome, "what": word})
        table[kind.name] = {"sealed": kind.sealed, **counts}
    return {
        "files": versions * len(table),
        "kinds": len(table),
        "tracebacks": sum(counts.get("trace", 0) for counts in table.values()),
        "wrong_results_accepted": sum(counts.get("wrong", 0) for counts in table.values()),
        "by_kind": table,
        "list": bad,
    }
