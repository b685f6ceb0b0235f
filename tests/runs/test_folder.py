"""Whose a run folder is, and the manifest in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from methods.tiny import tiny_samples
from PIL import Image

from lond import __version__
from lond.config import RunConfig, to_dict
from lond.data.read.files import HEAD_BYTES, FilePixels
from lond.errors import ConfigError, DataError
from lond.io.json_files import write_json
from lond.presets.benchmarks import preset
from lond.runs.folder import (
    CONTENTS,
    MANIFEST,
    METRICS,
    PLACES,
    check_same_data,
    claim,
    folder_config,
    held,
    identity_in,
    make_manifest,
    outside_parts,
    read_manifest,
    run_identity,
)
from lond.types import Problem, Samples

CONFIG = preset("digits")


def write(folder: Path, name: str, content: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_a_folder_belongs_to_one_configuration(tmp_path: Path) -> None:
    claim(tmp_path / "a" / "run", CONFIG)
    assert (tmp_path / "a" / "run").is_dir()
    write(tmp_path / "run", "config.json", to_dict(CONFIG))
    claim(tmp_path / "run", CONFIG)
    moved = replace(CONFIG, data=replace(CONFIG.data, benchmark=replace(CONFIG.data.benchmark, root="elsewhere")))
    claim(tmp_path / "run", moved)
    other = replace(CONFIG, net=replace(CONFIG.net, width=0.75), train=replace(CONFIG.train, epochs=3))
    with pytest.raises(ConfigError, match=r"other settings \(net\.width, train\.epochs\)\. Choose another folder"):
        claim(tmp_path / "run", other)


def test_a_source_has_one_name_with_or_without_a_slash(tmp_path: Path) -> None:
    def named(source: str) -> RunConfig:
        return replace(CONFIG, data=replace(CONFIG.data, source=source, test_source=""))

    write(tmp_path / "run", "config.json", to_dict(named("photos")))
    for same in ("photos/", "./photos", "photos//"):
        claim(tmp_path / "run", named(same))
    with pytest.raises(ConfigError, match=r"other settings \(data\.source\)"):
        claim(tmp_path / "run", named("photos/more"))


def test_the_identity_of_a_folder_is_that_of_its_configuration_and_data(tmp_path: Path) -> None:
    assert identity_in(tmp_path) == {}
    manifest = make_manifest(tiny_samples(6), None, {})
    write(tmp_path, "config.json", to_dict(CONFIG))
    write_json(tmp_path / MANIFEST, manifest)
    identity = identity_in(tmp_path)
    assert identity == run_identity(CONFIG, manifest)
    assert identity["data"]["train"]["images"] == 6 and identity["settings"]["train.seed"] == 0
    assert not set(PLACES) & identity["settings"].keys()


@pytest.mark.parametrize("key", ["class_names", "channels", "size", "data"])
@pytest.mark.parametrize("value", [None, 0, True, "x", [1], {"a": 1}])
def test_a_manifest_of_wrong_types_is_damage(key: str, value: object, tmp_path: Path) -> None:
    manifest = make_manifest(tiny_samples(6), None, {})
    write_json(tmp_path / MANIFEST, manifest)
    assert read_manifest(tmp_path)["channels"] == 1
    write_json(tmp_path / MANIFEST, manifest | {key: value})
    with pytest.raises(DataError, match=rf"manifest\.json is damaged \({key}\)"):
        read_manifest(tmp_path)


def test_what_an_older_version_did_not_write_has_its_default(tmp_path: Path) -> None:
    content = to_dict(CONFIG)
    del content["train"]["evaluation_batch"]
    write(tmp_path / "run", "config.json", content)
    claim(tmp_path / "run", CONFIG)
    assert folder_config(tmp_path / "run") == CONFIG


def test_a_run_killed_while_its_first_file_was_written_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "config.json.host-12-0.tmp").write_text("{")
    claim(tmp_path, CONFIG)
    (tmp_path / "config.json.tmp").write_text("someone else's")
    with pytest.raises(ConfigError, match="not empty and holds no run"):
        claim(tmp_path, CONFIG)


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="not empty and holds no run"):
        claim(tmp_path, CONFIG)
    with pytest.raises(ConfigError, match=r"notes\.txt is a file, not a folder"):
        claim(tmp_path / "notes.txt", CONFIG)


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(tmp_path):
        with pytest.raises(ConfigError, match="another process is training the run"), held(tmp_path):
            pass
        monkeypatch.setenv("RANK", "1")
        with held(tmp_path), held(None):
            pass


def test_a_part_that_came_from_elsewhere_must_be_here(tmp_path: Path) -> None:
    assert outside_parts(CONFIG) == {}
    write(tmp_path, "config.json", to_dict(CONFIG))
    assert folder_config(tmp_path) == CONFIG
    part = {"name": "magic", "class": "elsewhere:Magic"}
    write(tmp_path, "manifest.json", {"outside": {"backbone": part}})
    with pytest.raises(ConfigError, match=r"made with the backbone 'magic'.*register\(Magic\) first"):
        folder_config(tmp_path)
    assert folder_config(tmp_path, own_backbone=True) == CONFIG
    write(tmp_path, "manifest.json", {"outside": {"method": part | {"package": "lond-magic", "version": "1.0"}}})
    with pytest.raises(ConfigError, match="install lond-magic"):
        folder_config(tmp_path, own_backbone=True)
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"config\.json"):
        folder_config(tmp_path)


def test_the_manifest_tells_data_and_versions() -> None:
    samples = replace(tiny_samples(6), problems=(Problem("bad.png", "empty"),))
    manifest = make_manifest(samples, None, {"noise": "own"})
    assert (manifest["class_names"], manifest["channels"], manifest["size"]) == (samples.class_names, 1, (8, 8))
    assert set(manifest["data"]) == {"train"} and manifest["data"]["train"]["images"] == 6
    assert manifest["data"]["train"]["problems"] == [{"id": "bad.png", "reason": "empty"}]
    # Wheels for GPUs may name the version of CUDA in one place only.
    assert manifest["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert manifest["versions"]["lond"] in (__version__, "not installed")
    assert set(make_manifest(samples, samples, {})["data"]) == {"train", "test"}


@pytest.mark.parametrize(("begun", "changed"), [("metrics.json", "labels"), ("checkpoint.safetensors", "test")])
def test_changed_data_are_refused_once_a_run_has_begun(begun: str, changed: str, tmp_path: Path) -> None:
    samples = tiny_samples(6)
    stored, asked = make_manifest(samples, None, {}), make_manifest(samples, samples, {})
    if changed == "labels":
        asked = make_manifest(samples.with_labels(samples.labels.flip(0), None), None, {})
    write(tmp_path, "manifest.json", stored)
    check_same_data(tmp_path, asked)
    (tmp_path / begun).touch()
    check_same_data(tmp_path, stored)
    part: Any = "train" if changed == "labels" else "test"
    with pytest.raises(ConfigError, match=rf"on other data \(the {part} images or labels have changed\)"):
        check_same_data(tmp_path, asked)


def samples_in(folder: Path) -> Samples:
    return Samples(FilePixels([folder / "a.bmp"], 8, root=folder), torch.zeros(1).long(), ("x", "y"), ("a",))


def test_a_change_behind_the_first_bytes_of_a_file_is_noticed_unless_the_manifest_is_of_an_old_version(
    tmp_path: Path,
) -> None:
    picture = tmp_path / "a.bmp"
    Image.fromarray(np.zeros((200, 200, 3), dtype=np.uint8)).save(picture)
    before = make_manifest(samples_in(tmp_path), None, {})
    write_json(tmp_path / METRICS, {})
    write_json(tmp_path / MANIFEST, before)
    check_same_data(tmp_path, make_manifest(samples_in(tmp_path), None, {}))
    content = bytearray(picture.read_bytes())
    content[HEAD_BYTES + 1] ^= 1
    picture.write_bytes(content)
    changed = make_manifest(samples_in(tmp_path), None, {})
    with pytest.raises(ConfigError, match="on other data"):
        check_same_data(tmp_path, changed)
    before["data"]["train"].pop(CONTENTS)
    write_json(tmp_path / MANIFEST, before)
    check_same_data(tmp_path, changed)
