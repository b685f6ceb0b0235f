"""Stages of a judgement as files, so that a killed audit of a large set can resume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from lond.data.pixels import short_hash
from lond.errors import DamagedFileError, DataError
from lond.io.tensor_files import load_tensors, save_tensors
from lond.types import Samples

FROM = 50_000
"""Images from which on stages are kept; fewer are judged within seconds."""

FOLDER = "stages"
"""Folder of the stages, within that of the audit's runs."""


@dataclass(frozen=True)
class StageFiles:
    """Keeps named tensors in files of a folder; those of another ``key`` count as missing."""

    folder: Path
    key: str

    def load(self, name: str) -> dict[str, Tensor] | None:
        """Return what was saved under a name for the same images; None if nothing usable was."""
        try:
            found = load_tensors(self._path(name))
        except (DamagedFileError, DataError):
            return None
        return found.tensors if found.about.get("key") == self.key else None

    def save(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Keep tensors under a name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_tensors(self._path(name), tensors, {"key": self.key})

    def _path(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.safetensors"


def stage_files(folder: Path, samples: Samples, *settings: object) -> StageFiles | None:
    """Return the files for the stages of judging features of many images; None if they are few.

    Args:
        folder: where the audit's runs are kept.
        samples: features and labels.
        settings: what else the stages depend on.
    """
    if len(samples) < FROM:
        return None
    labels = samples.labels.numpy().tobytes()
    return StageFiles(folder / FOLDER, short_hash(samples.pixels.fingerprint(), labels, repr(settings)))
