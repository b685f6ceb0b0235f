"""Images read and run through the frozen network by many processes or machines, into one cache on a shared disk.

Each worker takes its shard of the rows and stores what it computes by content. Whoever needs everything then reads the
cache as ever, and computes only what a lost worker did not. Equal images in two shards are computed twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import torch
from torch import Tensor

from lond.cluster.tasks import Needs, RayCluster
from lond.data.read.files import Progress
from lond.data.split import take
from lond.data.squares import SquarePixels
from lond.errors import ConfigError
from lond.frozen.cache import ROWS_A_FILE
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.pictures import base_of
from lond.frozen.read import FeatureReader
from lond.types import Samples

LONGEST = timedelta(days=1)
"""How long a process waits for the others; ``torchrun`` ends all of them as soon as one dies."""

DeviceChoice = Callable[[], torch.device]
"""Chooses the device of the process that it is called in."""


@dataclass(frozen=True)
class ShardedReading:
    """What is computed of the images, and where it is kept."""

    samples: Samples
    network: ExtractorSettings | None
    """None computes no features, only what is seen in the pictures."""
    cache: Path
    """A folder that all workers see."""
    place: DeviceChoice
    decoders: int | None = None
    """Processes that decode files beside the one that runs the network; None leaves it to the samples."""


ReadingSpread = Callable[[ShardedReading, Progress], None]
"""Lets several workers read, each its shard, and returns when all have ended."""


def rows_of_shard(count: int, shard: int, shards: int) -> Tensor:
    """Return the rows of one shard: every ``shards``-th block of rows, from ``shard`` on.

    Neighbours stay together, since they often lie in one file; a block is at most one file of the cache.

    Args:
        count: rows in all.
        shard: from 0 on.
        shards: how many there are; every row is in exactly one.
    """
    if not 0 <= shard < shards:
        raise ConfigError(f"there is no shard {shard} of {shards}")
    block = max(1, min(ROWS_A_FILE, -(-count // shards)))
    blocks = torch.arange(count).split(block)[shard::shards] if count else ()
    return torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.int64)


def read_shard(work: ShardedReading, shard: int, shards: int) -> int:
    """Read the images of one shard and store what the cache does not hold; return their number."""
    rows = rows_of_shard(len(work.samples), shard, shards)
    if len(rows):
        reader = FeatureReader(work.cache, work.place())
        reader.read(take(work.samples, rows), work.network, perceptual=True, thumbnails=True)
    return len(rows)


@dataclass(frozen=True)
class RaySpread:
    """Spread over the workers of a Ray cluster; each reads one shard, again if its machine is lost.

    Attributes:
        cluster: where.
        needs: what each worker takes of a machine.
        workers: how many; 0 = as many as the cluster has room for.
        tell: told of shards that are lost, or left to whoever reads the cache.
    """

    cluster: RayCluster
    needs: Needs = Needs()
    workers: int = 0
    tell: Callable[[str], None] = lambda text: None

    def __call__(self, work: ShardedReading, progress: Progress) -> None:
        """Read all images on the cluster."""
        shards = self.workers or max(1, self.cluster.room(self.needs))
        done, sent = 0, replace(work, cache=work.cache.absolute(), decoders=self.needs.cpus - 1)
        names = [f"part {shard + 1} of {shards}" for shard in range(shards)]
        with closing(self.cluster.run(read_there, names, self.needs, shared=(sent,), tell=self.tell)) as ended:
            for name, answer in ended:
                done += answer.value or 0
                if answer.problem:
                    self.tell(f"{name} of the images was not read on the cluster, but will be here: {answer.problem}")
                progress(done, len(work.samples))


def read_there(name: str, attempt: int, work: ShardedReading) -> int:
    """Read the shard of a name, "part 2 of 3", on a machine of a cluster.

    Raises:
        ConfigError: the machine does not see the cache.
    """
    _, number, _, shards = name.split()
    if not work.cache.is_dir():
        raise ConfigError(f"the machine does not see {work.cache}; choose a cache on a disk that all share")
    base, _ = base_of(work.samples.pixels)
    if isinstance(base, SquarePixels) and work.decoders is not None:
        # A worker has the CPUs that it asked for, and no others.
        base.num_workers = work.decoders
    return read_shard(work, int(number) - 1, int(shards))


@dataclass(frozen=True)
class TorchrunSpread:
    """Spread over the processes that ``torchrun`` started: each reads the shard of its rank, then waits for all."""

    rank: int
    processes: int

    @classmethod
    def here(cls) -> TorchrunSpread | None:
        """Return the place of this process among those of ``torchrun``; None if it is alone."""
        processes = int(os.environ.get("WORLD_SIZE", "1")) if "TORCHELASTIC_RUN_ID" in os.environ else 1
        return cls(int(os.environ["RANK"]), processes) if processes > 1 else None

    def __call__(self, work: ShardedReading, progress: Progress) -> None:
        """Read this process's images; all processes must do so."""
        distributed = torch.distributed
        distributed.init_process_group("gloo", timeout=LONGEST)
        try:
            progress(read_shard(work, self.rank, self.processes), len(work.samples))
            distributed.barrier()
        finally:
            distributed.destroy_process_group()
