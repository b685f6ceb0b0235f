"""Batches with their views, on the model's device, in an order that depends on the seed alone."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lond.data.ahead import ahead
from lond.data.views import Views
from lond.processes.group import ProcessGroup
from lond.seeds import generator
from lond.types import Batch, Phase, Pixels, Request, Samples, Stream


def draw_order(
    stream: Stream, lead: int, batch_size: int, steps: int, random: torch.Generator, *, once: bool = True
) -> list[Tensor]:
    """Return ``steps`` index batches: one walk through a stream of ``lead`` samples, several through a smaller one.

    ``once`` is False for a stream of larger batches than the leading one, which may need several walks anyway.
    """
    size = len(stream.indices)
    walks = 1 if once and size >= lead else max(1, -(-steps * batch_size // size))
    order = torch.cat([torch.randperm(size, generator=random) for _ in range(walks)])
    return list(stream.indices[order].split(batch_size))[:steps]


def count_steps(lead: int, batch_size: int) -> int:
    """Return the steps of a phase; a last batch of fewer than two samples is dropped."""
    full, rest = divmod(lead, batch_size)
    return full + int(rest >= 2)


class BatchMaker:
    """Draws the batches of a phase from a sample set.

    Every process of a run gets the whole batch, the same as one process would: what it mixes and contrasts does not
    depend on their number. Only the reading of image files is divided.

    Args:
        samples: images and given labels.
        views: makes the views.
        batch_size: samples a stream and step.
        device: where batches are put.
        max_steps: the most steps of a phase after warm-up; 0 = no limit.
        group: the processes that read together; None = this one alone.
    """

    def __init__(
        self,
        samples: Samples,
        views: Views,
        batch_size: int,
        device: torch.device,
        max_steps: int = 0,
        group: ProcessGroup | None = None,
    ) -> None:
        """Keep the parts."""
        self.samples, self.views, self.batch_size, self.device = samples, views, batch_size, device
        self.max_steps = max_steps
        # What is in memory is faster copied than sent.
        self.group = group if group is not None and group.processes > 1 and samples.pixels.crops_on_read else None

    def steps(self, phase: Phase) -> int:
        """Return the number of steps of a phase."""
        steps = phase.steps or count_steps(phase.lead, self._size(phase.share))
        return min(steps, self.max_steps) if self.max_steps and not phase.is_warmup else steps

    def _size(self, share: float) -> int:
        """Return the samples of a batch of some share; batch normalisation needs two."""
        return max(2, round(share * self.batch_size))

    def batches(self, phase: Phase, seed: int, epoch: int) -> Iterator[dict[str, Batch]]:
        """Yield one batch of every stream a step; where there is a core to spare, the next is made meanwhile."""
        made = self._batches(phase, seed, epoch)
        # Pictures on disk are read by processes of their own, and these must not be started from a thread.
        return ahead(made) if torch.get_num_threads() > 1 and not self.samples.pixels.crops_on_read else made

    def _batches(self, phase: Phase, seed: int, epoch: int) -> Iterator[dict[str, Batch]]:
        streams = {name: stream for name, stream in phase.streams.items() if len(stream.indices)}
        order = generator(seed, "order", epoch, phase.name)
        steps = self.steps(phase)
        drawn = {
            name: draw_order(
                stream,
                phase.lead,
                self._size(stream.share),
                steps,
                order,
                once=stream.share <= phase.share and not phase.steps and phase.lead >= 2,
            )
            for name, stream in streams.items()
        }
        # The 0 was the rank: all processes draw alike.
        random = generator(seed, "views", epoch, phase.name, 0)
        plan = [{name: drawn[name][step] for name in streams} for step in range(steps)]
        requests = [self._request(list(parts.values()), list(streams.values()), random) for parts in plan]
        for parts, images in zip(plan, self._read(requests), strict=True):
            yield self._with_views(parts, streams, images.to(self.device, non_blocking=True), random)

    def _read(self, requests: list[Request]) -> Iterator[Tensor]:
        """Yield the images of each request; processes that share the reading get those of the others from them."""
        group = self.group
        if group is None:
            yield from self.samples.pixels.stream(requests)
            return
        own = [_part(request, group.rows(len(request.indices))) for request in requests]
        for request, images in zip(requests, self.samples.pixels.stream(own), strict=True):
            yield group.gather(images.transpose(0, 1), len(request.indices)).transpose(0, 1)

    def _request(self, parts: list[Tensor], streams: list[Stream], random: torch.Generator) -> Request:
        indices = torch.cat(parts)
        if not self.samples.pixels.crops_on_read:
            return Request(indices)
        views = max(len(stream.views) for stream in streams)
        return Request(indices, torch.rand(views, len(indices), 2, generator=random))

    def _with_views(
        self, parts: dict[str, Tensor], streams: dict[str, Stream], images: Tensor, random: torch.Generator
    ) -> dict[str, Batch]:
        """Make each kind of view for all streams at once: few large calls are faster than many small ones."""
        sizes = [len(part) for part in parts.values()]
        rows = dict(zip(parts, torch.arange(sum(sizes)).split(sizes), strict=True))
        views: dict[str, list[Tensor]] = {name: [] for name in parts}
        for slot in range(max(len(stream.views) for stream in streams.values())):
            pixels = images[min(slot, len(images) - 1)]
            wanted = {name: stream.views[slot] for name, stream in streams.items() if slot < len(stream.views)}
            for kind in sorted(set(wanted.values())):
                names = [name for name, its_kind in wanted.items() if its_kind == kind]
                chosen = pixels if len(names) == len(parts) else pixels[torch.cat([rows[name] for name in names])]
                made = self._make(kind, chosen, random).split([len(parts[name]) for name in names])
                for name, view in zip(names, made, strict=True):
                    views[name].append(view)
        return {name: self._batch(part, tuple(views[name])) for name, part in parts.items()}

    def _make(self, kind: str, images: Tensor, random: torch.Generator) -> Tensor:
        if kind == "test":
            return self.views.test(images)
        make = {"weak": self.views.weak, "strong": self.views.strong}[kind]
        return make(images, random, crop=not self.samples.pixels.crops_on_read)

    def _batch(self, part: Tensor, views: tuple[Tensor, ...]) -> Batch:
        return Batch(part.to(self.device), self.samples.labels[part].to(self.device), views)


def _part(request: Request, rows: slice) -> Request:
    return Request(request.indices[rows], None if request.crops is None else request.crops[:, rows])


def ordered_views(
    pixels: Pixels, views: Views, batch_size: int, device: torch.device, indices: Tensor | None = None
) -> Iterator[Tensor]:
    """Yield the test view of every image (or of those at ``indices``), in order."""
    indices = torch.arange(len(pixels)) if indices is None else indices
    requests = [Request(part) for part in indices.split(batch_size)] if len(indices) else []
    for images in pixels.stream(requests):
        yield views.test(images[0].to(device, non_blocking=True))
