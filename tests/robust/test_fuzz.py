"""Made-up content for every reader: it is read, or refused as a user's error; nothing else ever comes out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from lond.audit import read_audit, read_decisions
from lond.audit.saved import read_page, read_summary
from lond.audit.table import AuditTable
from lond.config import read_config
from lond.data.read.cifar import read_pickle
from lond.data.read.embeddings import read_embeddings
from lond.data.read.labels import class_names_of, encode, read_names
from lond.data.read.numpy_files import NpzFile, read_npy
from lond.data.read.tables import read_table
from lond.data.sources import load
from lond.errors import LondError
from lond.frozen.cache import ContentCache
from lond.results import scan
from lond.runs.calibration import load_calibration
from lond.runs.folder import folder_config, read_manifest
from lond.runs.image_tables import read_verdicts
from lond.train.state import read_checkpoint

QUICK = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
KEYS = (
    "data",
    "net",
    "views",
    "method",
    "settings",
    "train",
    "optimiser",
    "class_names",
    "size",
    "channels",
    "outside",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def ends_well(read: Callable[[], Any]) -> None:
    """Read; only a user's error may come out."""
    with suppress(LondError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read()


def no_rows() -> AuditTable:
    return AuditTable(**{field.name: () for field in fields(AuditTable)})


BINARY: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "checkpoint": ("checkpoint.safetensors", lambda path: read_checkpoint(path.parent, {})),
    "decision": ("decision.safetensors", lambda path: load_calibration(path.parent)),
    "features": ("k/a.safetensors", lambda path: ContentCache(path.parents[1], "key")),
    "npz": ("a.npz", lambda path: load(path)),
    "npy": ("a.npy", lambda path: read_npy(path)),
    "embeddings": ("a.npz", lambda path: read_embeddings(path, ["a"])),
    "parquet embeddings": ("a.parquet", lambda path: read_embeddings(path, ["a"])),
    "parquet table": ("a.parquet", read_table),
    "parquet audit": ("a.parquet", read_audit),
    "cifar": ("batch", read_pickle),
    "table": ("a.csv", read_table),
    "audit": ("audit.csv", read_audit),
    "verdicts": ("verdicts.csv", read_verdicts),
    "decisions": ("d.csv", read_decisions),
    "summary": ("summary.json", read_summary),
    "page": ("audit.html", lambda path: read_page(path, no_rows())),
    "configuration": ("config.json", read_config),
    "manifest": ("manifest.json", lambda path: read_manifest(path.parent)),
    "store": ("store/a.json", lambda path: scan(path.parent)),
}
HEADS = (
    b"",
    b"PK\x03\x04",
    b"\x93NUMPY\x01\x00v\x00",
    b"PAR1",
    b"\x80\x02}",
    b"{",
    b"\x10\0\0\0\0\0\0\0{",
    b"id,verdict\n",
)


@pytest.mark.parametrize("kind", BINARY)
@QUICK
@given(head=st.sampled_from(HEADS), body=st.binary(max_size=200))
def test_any_bytes(kind: str, head: bytes, body: bytes, place: Path) -> None:
    name, read = BINARY[kind]
    path = place / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head + body)
    ends_well(lambda: read(path))


@QUICK
@given(content=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), VALUES, max_size=5))
@example(content={"settings": None}).via("found")
@example(content={"data": {"read": {"size": 1e300}}}).via("found")
@example(content={"outside": {"method": None}}).via("found")
def test_any_json_as_configuration_or_manifest(content: dict[str, Any], place: Path) -> None:
    (place / "config.json").write_text(json.dumps(content))
    (place / "manifest.json").write_text(json.dumps(content))
    for read in (
        lambda: read_config(place / "config.json"),
        lambda: read_manifest(place),
        lambda: folder_config(place),
    ):
        ends_well(read)


CELLS = st.text(alphabet='ab01-=,;"\n\r\t|\\\0ü', max_size=6)
COLUMNS = ("id", "path", "label", "verdict", "suggested_label", "confidence", "decision", "new_label", "p_value", "")


@QUICK
@given(names=st.lists(st.sampled_from(COLUMNS), max_size=8), rows=st.lists(st.lists(CELLS, max_size=8), max_size=4))
def test_any_cells_as_tables(names: list[str], rows: list[list[str]], place: Path) -> None:
    text = "\n".join(",".join(row) for row in [names, *rows])
    (place / "t.csv").write_text(text, encoding="utf-8", newline="")
    for read in (read_table, read_audit, read_verdicts, read_decisions):
        ends_well(lambda read=read: read(place / "t.csv"))  # type: ignore[misc]


LABELS = st.none() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=4) | st.booleans()


@QUICK
@given(values=st.lists(LABELS, max_size=6))
@example(values=["7" * 5000]).via("found")
@example(values=["1.0", "9" * 400 + ".0"]).via("found")
@example(values=[float("inf")]).via("found")
def test_any_labels(values: list[object]) -> None:
    def read() -> None:
        names = read_names(values)
        encode(names, class_names_of(names), foreign_allowed=True)

    ends_well(read)


ARRAYS = st.sampled_from(
    [
        np.array(3), np.zeros(0), np.zeros((2, 0)), np.array(["a", "b"]), np.zeros((2, 3)), np.zeros((2, 4, 4)),
        np.full((2, 3), np.nan), np.zeros((2, 4, 4, 3), np.uint8), np.array([1 + 2j]), np.array([[True]]),
        np.array(["2020-01-01"], dtype="datetime64[D]"), np.zeros(2, dtype=[("a", "i4")]), np.zeros((1,) * 12),
    ]
)  # fmt: skip
NAMES = (
    "x",
    "y",
    "images",
    "labels",
    "embeddings",
    "features",
    "ids",
    "class_names",
    "true_labels",
    "x_train",
    "y_test",
)


@QUICK
@given(arrays=st.dictionaries(st.sampled_from(NAMES), ARRAYS, max_size=5))
def test_any_arrays(arrays: dict[str, Any], place: Path) -> None:
    np.savez(place / "a.npz", **arrays)
    ends_well(lambda: load(place / "a.npz"))
    ends_well(lambda: load(place / "a.npz", "test", class_names=("p", "q")))
    ends_well(lambda: read_embeddings(place / "a.npz", ["a", "b"]))
    with NpzFile(place / "a.npz") as file:
        assert set(file) == set(arrays)


@QUICK
@given(tree=VALUES, names=st.lists(st.sampled_from(["0", "hashes", "rows", "rows.ends"]), max_size=3, unique=True))
@example(tree={"dict": [["method", {"dict": []}], ["history", 3]]}, names=[]).via("found")
def test_any_tree_and_tensors_as_checkpoint_and_features(tree: Any, names: list[str], place: Path) -> None:
    tensors = {name: torch.arange(number + 1) for number, name in enumerate(names)}
    save_file(tensors, place / "checkpoint.safetensors", metadata={"format": "1", "tree": json.dumps(tree)})
    ends_well(lambda: read_checkpoint(place, {}))
    folder = ContentCache(place, "key").folder
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / "a.safetensors")
    ContentCache(place, "key")
