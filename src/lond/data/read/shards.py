"""WebDataset archives as Samples: tar files in which the parts of a sample share a name (``1.jpg`` and ``1.cls``)."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lond.data.images import IMAGE_SUFFIXES, EncodedImage, UnreadableImage
from lond.data.options import DEFAULTS, ReadOptions, is_training, split_names
from lond.data.read.stored import stored_samples
from lond.errors import DataError
from lond.types import Problem, Samples

LABEL_PARTS = (".cls", ".txt", ".json")
"""Endings of the parts that may hold the label, the preferred one first; of JSON, the entry named like the column."""

_LARGEST_LABEL = 1 << 20


@dataclass
class _Sample:
    image: tuple[int, int] | None = None
    parts: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class _ShardStore:
    paths: tuple[str, ...]
    places: tuple[tuple[int, int, int], ...]
    """Archive, first byte and number of bytes of each picture."""
    names: tuple[str, ...]
    max_pixels: int

    def __len__(self) -> int:
        return len(self.places)

    def open(self, index: int) -> EncodedImage:
        shard, start, length = self.places[index]
        try:
            with open(self.paths[shard], "rb") as file:
                file.seek(start)
                return EncodedImage(file.read(length), self.max_pixels)
        except OSError as error:
            raise UnreadableImage(f"the archive cannot be read ({error})") from error

    def state(self) -> bytes:
        sizes = [(Path(path).name, os.stat(path).st_size) for path in self.paths]
        return repr((sizes, self.places)).encode()


def shards_in(path: Path) -> list[Path]:
    """Return the archives that a path stands for: itself, or all .tar files of a folder that holds nothing else."""
    if path.is_file() and path.suffix.lower() == ".tar":
        return [path]
    if not path.is_dir():
        return []
    files = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    return files if files and all(entry.suffix.lower() == ".tar" for entry in files) else []


def shards_of_split(path: Path, split: str) -> list[Path]:
    """Return the archives of a split, by their names' beginning ("train-0001.tar"); undivided ones are for training."""
    shards = shards_in(path)
    every = [name for other in ("train", "test") for name in split_names(other)]
    if not any(shard.name.lower().startswith(tuple(every)) for shard in shards):
        return shards if is_training(split) else []
    return [shard for shard in shards if shard.name.lower().startswith(split_names(split))]


def read_shards(
    path: Path, split: str = "train", options: ReadOptions = DEFAULTS, class_names: Sequence[str] | None = None
) -> Samples:
    """Return the images of WebDataset archives; ids are the archive and the name within it.

    The pictures stay in the archives and are read from there. The label is the text of the part ``.cls`` or ``.txt``,
    or the entry of the part ``.json`` that is named like ``options.label_column``.

    Raises:
        DataError: an archive cannot be read, or there are no images in them.
    """
    shards = shards_of_split(path, split)
    if not shards:
        raise DataError(f"{path} has no archive of the split {split!r}; their names must begin with it")
    places, names, labels = [], [], []
    problems: list[Problem] = []
    for number, shard in enumerate(shards):
        for key, sample in _samples_in(shard).items():
            name = f"{shard.name}/{key}"
            if sample.image is None:
                problems.append(Problem(name, "the sample has no image"))
                continue
            places.append((number, *sample.image))
            names.append(name)
            labels.append(_label(sample, options.label_column, name))
    store = _ShardStore(tuple(map(str, shards)), tuple(places), tuple(names), options.max_pixels)
    return stored_samples(
        store, labels, options, split=split, class_names=class_names, origin=str(path), problems=problems
    )


def _samples_in(shard: Path) -> dict[str, _Sample]:
    samples: dict[str, _Sample] = {}
    try:
        # Compressed archives cannot be read at a place, so only plain ones are opened.
        with tarfile.open(shard, "r:") as archive:
            for member in archive:
                if not member.isfile():
                    continue
                folder, _, name = member.name.rpartition("/")
                stem, dot, ending = name.partition(".")
                sample = samples.setdefault(f"{folder}/{stem}".lstrip("/"), _Sample())
                suffix = f"{dot}{ending}".lower()
                if suffix in IMAGE_SUFFIXES and sample.image is None:
                    sample.image = (member.offset_data, member.size)
                elif suffix in LABEL_PARTS and member.size <= _LARGEST_LABEL:
                    part = archive.extractfile(member)
                    sample.parts[suffix] = b"" if part is None else part.read()
    except (tarfile.TarError, OSError) as error:
        raise DataError(f"{shard} cannot be read as a plain tar archive: {error}; unpack compressed ones") from error
    return samples


def _label(sample: _Sample, column: str, name: str) -> object:
    suffix = next((suffix for suffix in LABEL_PARTS if suffix in sample.parts), None)
    if suffix is None:
        return None
    try:
        text = sample.parts[suffix].decode("utf-8")
        if suffix != ".json":
            return text.strip()
        content = json.loads(text)
        return content.get(column) if isinstance(content, dict) else content
    except ValueError as error:
        raise DataError(f"the label of {name} cannot be read: {error}") from error
