"""Run folders: what counts as the same data, and files that are no manifest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.data.read.files import HEAD_BYTES, FilePixels
from lond.errors import ConfigError
from lond.io.json_files import write_json
from lond.runs.folder import CONTENTS, MANIFEST, METRICS, check_same_data, make_manifest
from lond.types import Samples


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
