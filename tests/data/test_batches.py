"""Batches: order, length, repetition, views, processes, cut-outs on reading."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from processes.threads import run_together
from torch import Tensor

from lond.data.batches import BatchMaker, count_steps, draw_order, ordered_views
from lond.data.pixels import ArrayPixels
from lond.data.views import ViewMaker, ViewSettings
from lond.processes.group import ProcessGroup, current_group
from lond.types import Batch, Phase, Pixels, Request, Samples, Stream

CPU = torch.device("cpu")


def numbered_images(count: int, side: int = 8) -> Tensor:
    """Image i holds the value i everywhere."""
    return torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(count, 1, side, side)


def make_samples(count: int, pixels: Pixels | None = None) -> Samples:
    pixels = pixels or ArrayPixels(numbered_images(count))
    return Samples(pixels, torch.arange(count) % 3, ("a", "b", "c"), tuple(map(str, range(count))))


PLAIN = ViewSettings(padding=0, flip=False, strong="none", mean=(0.0, 0.0, 0.0), std=(1 / 255,) * 3)
"""Views that show the image's number again."""


def maker(
    samples: Samples, batch_size: int, views: ViewSettings = PLAIN, group: ProcessGroup | None = None
) -> BatchMaker:
    return BatchMaker(samples, ViewMaker(views, 1), batch_size, CPU, group=group)


def phase_of(lead: int, name: str = "p", **streams: Stream) -> Phase:
    return Phase(name, streams, lead)


def indices(drawn: list[dict[str, Batch]], name: str) -> list[list[int]]:
    return [batches[name].indices.tolist() for batches in drawn]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(2, 60), st.integers(2, 20))
def test_steps_by_counting(lead: int, batch_size: int) -> None:
    parts = [min(batch_size, lead - start) for start in range(0, lead, batch_size)]
    if parts[-1] < batch_size and parts[-1] < 2:
        parts.pop()
    assert count_steps(lead, batch_size) == len(parts)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 60), st.integers(2, 20), st.data())
def test_order_of_any_stream(lead: int, batch_size: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, lead))
    steps = count_steps(lead, batch_size)
    stream = Stream(100 + torch.randperm(size))
    drawn = draw_order(stream, lead, batch_size, steps, torch.Generator().manual_seed(0))
    assert len(drawn) == steps
    shown = torch.cat([*drawn, torch.empty(0, dtype=torch.long)])
    assert set(shown.tolist()) <= set(stream.indices.tolist())
    counts = torch.bincount(shown - 100, minlength=size) if len(shown) else torch.zeros(size)
    # No sample is shown a second time before every one was shown once.
    assert int(counts.max()) - int(counts.min()) <= 1
    if size == lead:
        assert int(counts.max()) <= 1
    else:
        assert all(len(part) == len(drawn[0]) for part in drawn)


def test_lead_stream_is_walked_once_and_its_last_batch_is_short() -> None:
    samples = make_samples(10)
    batch_maker = maker(samples, 4)
    phase = phase_of(10, all=Stream(torch.arange(10)))
    drawn = list(batch_maker.batches(phase, seed=0, epoch=0))
    assert batch_maker.steps(phase) == len(drawn) == 3
    shown = indices(drawn, "all")
    assert [len(part) for part in shown] == [4, 4, 2]
    assert sorted(functools.reduce(operator.iadd, shown, [])) == list(range(10))
    assert shown != [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_last_batch_of_one_is_dropped() -> None:
    drawn = list(maker(make_samples(9), 4).batches(phase_of(9, all=Stream(torch.arange(9))), 0, 0))
    shown = functools.reduce(operator.iadd, indices(drawn, "all"), [])
    assert len(drawn) == 2
    assert len(set(shown)) == 8


def test_smaller_streams_cycle_and_empty_ones_are_left_out() -> None:
    phase = phase_of(
        12,
        all=Stream(torch.arange(12)),
        few=Stream(torch.tensor([3, 5, 7])),
        some=Stream(torch.arange(5)),
        none=Stream(torch.empty(0, dtype=torch.long)),
    )
    drawn = list(maker(make_samples(12), 4).batches(phase, 0, 0))
    assert len(drawn) == 3
    assert all(set(batches) == {"all", "few", "some"} for batches in drawn)
    few = functools.reduce(operator.iadd, indices(drawn, "few"), [])
    assert set(few) == {3, 5, 7}
    some = functools.reduce(operator.iadd, indices(drawn, "some"), [])
    assert len(some) == 12
    assert sorted(some[:5]) == sorted(some[5:10]) == [0, 1, 2, 3, 4]


def test_labels_and_pixels_belong_to_the_indices() -> None:
    phase = phase_of(12, all=Stream(torch.arange(12)), one=Stream(torch.tensor([2, 9, 4]), ("test",)))
    for batches in maker(make_samples(12), 4).batches(phase, 1, 2):
        for batch in batches.values():
            assert batch.labels.tolist() == [index % 3 for index in batch.indices.tolist()]
            for view in batch.views:
                assert view[:, 0, 0, 0].round().long().tolist() == batch.indices.tolist()


def test_each_stream_gets_the_views_it_asked_for() -> None:
    calls: list[tuple[str, int, bool]] = []

    class Recorder:
        def weak(self, images: Tensor, random: torch.Generator, crop: bool = True) -> Tensor:
            calls.append(("weak", len(images), crop))
            return images + 0.25

        def strong(self, images: Tensor, random: torch.Generator, crop: bool = True) -> Tensor:
            calls.append(("strong", len(images), crop))
            return images + 0.5

        def test(self, images: Tensor) -> Tensor:
            calls.append(("test", len(images), False))
            return images + 0.75

    phase = phase_of(
        8,
        both=Stream(torch.arange(8)),
        one=Stream(torch.arange(4), ("weak",)),
        swapped=Stream(torch.arange(2, 6), ("strong", "test", "weak")),
    )
    batch_maker = BatchMaker(make_samples(8), Recorder(), 4, CPU)  # type: ignore[arg-type]
    fractions = {"weak": 0.25, "strong": 0.5, "test": 0.75}
    for batches in batch_maker.batches(phase, 0, 0):
        for name, batch in batches.items():
            assert len(batch.views) == len(phase.streams[name].views)
            for kind, view in zip(phase.streams[name].views, batch.views, strict=True):
                assert torch.allclose(view[:, 0, 0, 0], batch.indices + fractions[kind])
    # A kind of view is made for all streams at once.
    slots = [("strong", 4, True), ("weak", 8, True)], [("strong", 4, True), ("test", 4, False)], [("weak", 4, True)]
    assert calls[:5] == [*slots[0], *slots[1], *slots[2]]


def test_same_seed_same_batches_and_nothing_else_matters() -> None:
    phase = phase_of(20, all=Stream(torch.arange(20)), few=Stream(torch.arange(6)))
    views = ViewSettings(padding=2, strong="geometric")

    def draw(seed: int = 0, epoch: int = 0, name: str = "p") -> list[Tensor]:
        torch.manual_seed(torch.seed() % 1000)
        drawn = maker(make_samples(20), 8, views=views).batches(Phase(name, phase.streams, 20), seed, epoch)
        return [tensor for batches in drawn for batch in batches.values() for tensor in (batch.indices, *batch.views)]

    first = draw()
    assert all(torch.equal(a, b) for a, b in zip(first, draw(), strict=True))
    for other in (draw(seed=1), draw(epoch=1), draw(name="q")):
        assert not torch.equal(first[0], other[0])


class CuttingPixels:
    """Image i at crop (v, h): i in channel-pixel 0, then the position in per cent."""

    channels, size, crops_on_read = 1, (8, 8), True

    def __init__(self, count: int) -> None:
        self.count, self.requests = count, []

    def __len__(self) -> int:
        return self.count

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        self.requests += requests
        for request in requests:
            views = 1 if request.crops is None else len(request.crops)
            images = torch.zeros(views, len(request.indices), 1, 8, 8, dtype=torch.uint8)
            images[:, :, 0, 0, 0] = request.indices.to(torch.uint8)
            if request.crops is not None:
                images[:, :, 0, 0, 1:3] = (100 * request.crops).to(torch.uint8)
            yield images

    def fingerprint(self) -> str:
        return "cutting"


def test_sources_that_cut_on_reading_get_a_position_a_view() -> None:
    pixels = CuttingPixels(10)
    phase = phase_of(10, all=Stream(torch.arange(10)), one=Stream(torch.arange(5), ("weak",)))
    views = ViewSettings(padding=4, flip=False, strong="none", mean=(0.0, 0.0, 0.0), std=(1 / 255,) * 3)
    drawn = list(maker(make_samples(10, pixels), 4, views=views).batches(phase, 0, 0))
    assert len(pixels.requests) == len(drawn) == 3
    for request, batches in zip(pixels.requests, drawn, strict=True):
        assert request.crops is not None
        assert request.crops.shape == (2, len(request.indices), 2)
        assert bool(((request.crops >= 0) & (request.crops <= 1)).all())
        whole, one = batches["all"], batches["one"]
        assert request.indices.tolist() == whole.indices.tolist() + one.indices.tolist()
        cut = (100 * request.crops).to(torch.uint8).float()
        for slot, view in enumerate(whole.views):
            # Not cropped a second time: the marks stay where they are.
            assert view[:, 0, 0, 0].round().long().tolist() == whole.indices.tolist()
            assert torch.allclose(view[:, 0, 0, 1:3], cut[slot, : len(whole.indices)], atol=1e-3)
        assert torch.allclose(one.views[0][:, 0, 0, 1:3], cut[0, len(whole.indices) :], atol=1e-3)


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("on_disk", [True, False])
def test_every_process_has_the_batch_of_one_and_reads_its_part(processes: int, on_disk: bool) -> None:
    phase = phase_of(20, all=Stream(torch.arange(20)), few=Stream(torch.arange(9)))
    sources = [CuttingPixels(20) for _ in range(processes)]

    def drawn(pixels: CuttingPixels | None, group: ProcessGroup | None = None) -> list[dict[str, Batch]]:
        views = replace(PLAIN, padding=2, strong="geometric")
        return list(maker(make_samples(20, pixels), 12, views, group).batches(phase, 3, 1))

    alone = drawn(CuttingPixels(20) if on_disk else None)
    shared = run_together(processes, lambda rank: drawn(sources[rank] if on_disk else None, current_group()))
    for own in shared:
        for batches, wanted in zip(own, alone, strict=True):
            for name, batch in wanted.items():
                assert torch.equal(batches[name].indices, batch.indices)
                assert all(map(torch.equal, batches[name].views, batch.views))
    read = [sum(len(request.indices) for request in source.requests) for source in sources]
    assert sum(read) == (sum(len(batch.indices) for batches in alone for batch in batches.values()) if on_disk else 0)
    assert max(read) - min(read) <= len(alone)


def test_no_step_no_request() -> None:
    assert list(maker(make_samples(5), 4).batches(phase_of(1, all=Stream(torch.tensor([2]))), 0, 0)) == []


@pytest.mark.parametrize("chosen", [None, [4, 1, 1, 9], []])
def test_test_views_come_in_order(chosen: list[int] | None) -> None:
    samples = make_samples(10)
    wanted = None if chosen is None else torch.tensor(chosen, dtype=torch.long)
    drawn = list(ordered_views(samples.pixels, ViewMaker(PLAIN, 1), 3, CPU, wanted))
    shown = [round(value) for view in drawn for value in view[:, 0, 0, 0].tolist()]
    assert shown == (list(range(10)) if chosen is None else chosen)
    assert all(len(view) <= 3 for view in drawn)


def test_streams_of_other_sizes() -> None:
    streams = {"small": Stream(torch.arange(20), ("weak",), 0.5), "large": Stream(torch.arange(9), ("weak",), 1.5)}
    phase = Phase("p", streams, lead=20, share=0.5)
    drawn = list(maker(make_samples(20), 8).batches(phase, 0, 0))
    assert len(drawn) == 5
    assert [len(batch) for batch in indices(drawn, "small")] == [4] * 5
    assert sorted(functools.reduce(operator.add, indices(drawn, "small"))) == list(range(20))
    assert [len(batch) for batch in indices(drawn, "large")] == [12] * 5


def test_a_stream_of_larger_batches_is_repeated_even_if_it_is_long() -> None:
    streams = {"lead": Stream(torch.arange(8), ("weak",), 0.5), "other": Stream(torch.arange(10), ("weak",), 2.0)}
    drawn = list(maker(make_samples(10), 4).batches(Phase("p", streams, lead=8, share=0.5), 0, 0))
    assert [len(batch) for batch in indices(drawn, "other")] == [8] * 4


def test_a_batch_never_has_one_sample() -> None:
    phase = Phase("p", {"tiny": Stream(torch.arange(10), ("weak",), 0.01)}, lead=10, share=0.01)
    drawn = list(maker(make_samples(10), 8).batches(phase, 0, 0))
    assert all(len(batch) == 2 for batch in indices(drawn, "tiny"))


def test_few_samples_are_not_repeated() -> None:
    (batches,) = maker(make_samples(6), 8).batches(phase_of(3, all=Stream(torch.arange(3))), 0, 0)
    assert sorted(batches["all"].indices.tolist()) == [0, 1, 2]
    assert maker(make_samples(6), 8).steps(phase_of(1, all=Stream(torch.tensor([2])))) == 0


def test_at_most_so_many_steps_and_others_each_epoch() -> None:
    few = BatchMaker(make_samples(40), ViewMaker(PLAIN, 1), 4, CPU, max_steps=3)
    phase = phase_of(40, all=Stream(torch.arange(40), ("weak",)))
    assert few.steps(phase) == 3
    first, second = (indices(list(few.batches(phase, 0, epoch)), "all") for epoch in (0, 1))
    assert len(first) == len(second) == 3
    assert first != second
    assert few.steps(phase_of(40, "warm-up", all=Stream(torch.arange(40), ("weak",)))) == 10
    assert few.steps(phase_of(6, all=Stream(torch.arange(6), ("weak",)))) == 2


def test_a_fixed_number_of_steps_repeats_every_stream() -> None:
    streams = {"a": Stream(torch.arange(5), ("weak",)), "b": Stream(torch.arange(30), ("weak",))}
    drawn = list(maker(make_samples(30), 4).batches(Phase("p", streams, lead=30, steps=11), 0, 0))
    assert len(drawn) == 11
    for name, count in (("a", 5), ("b", 30)):
        assert [len(batch) for batch in indices(drawn, name)] == [4] * 11
        flat = functools.reduce(operator.add, indices(drawn, name))
        assert sorted(flat[:count]) == list(range(count))


@pytest.mark.parametrize("strong", ["none", "randaugment"])
def test_batches_made_ahead_are_the_same(monkeypatch: pytest.MonkeyPatch, strong: str) -> None:
    samples = make_samples(50)
    views = ViewSettings(padding=2, strong=strong)
    phase = phase_of(50, all=Stream(torch.arange(50), ("weak", "strong")), few=Stream(torch.arange(9), ("weak",)))
    drawn = {}
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        drawn[threads] = list(maker(samples, 8, views=views).batches(phase, seed=3, epoch=1))
    assert len(drawn[1]) == len(drawn[2]) == 7
    for plain, ahead in zip(drawn[1], drawn[2], strict=True):
        assert plain.keys() == ahead.keys()
        for name in plain:
            assert plain[name].indices.equal(ahead[name].indices)
            assert all(a.equal(b) for a, b in zip(plain[name].views, ahead[name].views, strict=True))
