"""Pixels in files: order, views, workers, bad files, hashes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.data.pixels import ArrayPixels, subset
from lond.data.read.files import (
    HEAD_BYTES,
    FilePixels,
    check_files,
    contents_hash,
    guess_size,
    load_into_memory,
    relative_name,
)
from lond.data.resized import at_side
from lond.errors import DataError
from lond.types import Pixels, Request


def _make(folder: Path, count: int, width: int = 24, height: int = 16) -> list[Path]:
    """Write pictures whose red is their number and whose green grows to the right."""
    paths = []
    for number in range(count):
        pixels = np.zeros((height, width, 3), dtype=np.uint8)
        pixels[..., 0] = number
        pixels[..., 1] = np.arange(width)[None, :] * 10
        paths.append(folder / f"{number}.png")
        Image.fromarray(pixels).save(paths[-1])
    return paths


def _requests(count: int, batch: int) -> list[Request]:
    return [Request(part) for part in torch.randperm(count).split(batch)]


@pytest.mark.parametrize("workers", [0, 2])
def test_order_is_kept(tmp_path: Path, workers: int) -> None:
    pixels: Pixels = FilePixels(_make(tmp_path, 20), 16, num_workers=workers)
    requests = _requests(20, 3)
    batches = list(pixels.stream(requests))
    assert [batch[0, :, 0, 0, 0].tolist() for batch in batches] == [request.indices.tolist() for request in requests]
    assert batches[0].shape == (1, 3, 3, 16, 16)
    assert batches[0].dtype == torch.uint8
    assert pixels.crops_on_read and pixels.size == (16, 16) and pixels.channels == 3 and len(pixels) == 20


def test_views_are_cut_where_asked(tmp_path: Path) -> None:
    pixels = FilePixels(_make(tmp_path, 2), 16, num_workers=0)
    crops = torch.tensor([[[0.5, 0.0], [0.5, 1.0]], [[0.5, 1.0], [0.5, 0.5]]])
    (batch,) = pixels.stream([Request(torch.tensor([0, 1]), crops)])
    assert batch.shape == (2, 2, 3, 16, 16)
    assert batch[:, :, 1, 0, 0].tolist() == [[0, 80], [80, 40]]


def test_one_channel(tmp_path: Path) -> None:
    pixels = FilePixels(_make(tmp_path, 2), 8, channels=1, num_workers=0)
    (batch,) = pixels.stream([Request(torch.tensor([0, 1, 1]))])
    assert batch.shape == (1, 3, 1, 8, 8)


def test_nothing_asked_nothing_given(tmp_path: Path) -> None:
    pixels = FilePixels(_make(tmp_path, 1), 8, num_workers=1)
    assert list(pixels.stream([])) == []
    (batch,) = pixels.stream([Request(torch.tensor([], dtype=torch.int64))])
    assert batch.shape == (1, 0, 3, 8, 8)


@pytest.mark.parametrize("workers", [0, 2])
def test_bad_files_turn_grey_and_are_recorded_once(tmp_path: Path, workers: int) -> None:
    paths = _make(tmp_path, 6)
    paths[2].write_bytes(b"")
    paths[4].write_bytes(b"no image")
    paths[5].unlink()
    pixels = FilePixels(paths, 16, num_workers=workers, root=tmp_path)
    for _ in range(2):
        batch = torch.cat(list(pixels.stream([Request(torch.tensor([0, 2, 4])), Request(torch.tensor([5, 1, 3]))])), 1)
        assert (batch[0, [1, 2, 3]] == 128).all()
        assert batch[0, [0, 4, 5], 0, 0, 0].tolist() == [0, 1, 3]
    assert [problem.id for problem in pixels.problems] == ["2.png", "4.png", "5.png"]
    assert "empty" in pixels.problems[0].reason


def test_early_stop_of_the_reader_is_harmless(tmp_path: Path) -> None:
    pixels = FilePixels(_make(tmp_path, 8), 16, num_workers=2)
    stream = pixels.stream(_requests(8, 1))
    next(stream)
    del stream
    assert len(list(pixels.stream(_requests(8, 4)))) == 2


def test_load_into_memory_takes_centre_squares_in_order(tmp_path: Path) -> None:
    pixels = FilePixels(_make(tmp_path, 7), 16, num_workers=0)
    seen: list[tuple[int, int]] = []
    loaded = load_into_memory(pixels, lambda done, total: seen.append((done, total)), batch_size=3)
    assert loaded.images[:, 0, 0, 0].tolist() == list(range(7))
    assert loaded.images[0, 1, 0, 0] == 40
    assert seen == [(3, 7), (6, 7), (7, 7)]


def test_subset_view_of_files(tmp_path: Path) -> None:
    view = subset(FilePixels(_make(tmp_path, 5), 16, num_workers=0), [4, 2])
    assert load_into_memory(view).images[:, 0, 0, 0].tolist() == [4, 2]
    assert view.crops_on_read


def test_fingerprint_follows_content_names_and_size_not_the_place(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    paths, same = _make(one, 3), _make(two, 3)
    before = FilePixels(paths, 16, root=one).fingerprint()
    assert len(before) == 16
    assert before == FilePixels(same, 16, root=two).fingerprint()
    assert before != FilePixels(paths, 8, root=one).fingerprint()
    assert before != FilePixels(paths[:2], 16, root=one).fingerprint()
    Image.new("RGB", (24, 16)).save(same[0])
    same[1].unlink()
    assert before != FilePixels(same, 16, root=two).fingerprint()


def test_names_that_hurt(tmp_path: Path) -> None:
    names = ["ünï çødé 图.png", "n" * 250 + ".png", "comma, \"quote\" 'n' $(rm).png", "new\nline.png", "-rf.png"]
    paths = []
    for name in names:
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
        paths.append(tmp_path / name)
    pixels = FilePixels(paths, 8, num_workers=0, root=tmp_path)
    assert load_into_memory(pixels).images[:, 0].min() == 255
    assert pixels.name(0) == names[0] and pixels.problems == []
    assert len(pixels.fingerprint()) == 16


def test_relative_name_is_always_writable_text() -> None:
    assert relative_name("/a/b/c.png", "/a") == "b/c.png"
    assert relative_name("/x/c.png", "/a") == "/x/c.png"
    relative_name("/a/bad\udcff.png", "/a").encode("utf-8")


def test_check_files_and_guess_size(tmp_path: Path) -> None:
    paths = _make(tmp_path, 4, 50, 30)
    paths[1].write_bytes(b"x")
    assert set(check_files(paths, num_workers=0)) == {1}
    assert guess_size(paths) == 30
    Image.new("RGB", (900, 600)).save(tmp_path / "big.png")
    assert guess_size([tmp_path / "big.png"]) == 224
    with pytest.raises(DataError, match=r"can be read from 1 file; check .*1\.png: not an image"):
        guess_size([paths[1]])


def test_check_files_with_workers_reports_progress(tmp_path: Path) -> None:
    (path,) = _make(tmp_path, 1)
    (tmp_path / "bad.png").write_bytes(b"x")
    seen: list[int] = []
    paths = [path] * 150 + [tmp_path / "bad.png"]
    assert set(check_files(paths, num_workers=2, progress=lambda done, _: seen.append(done))) == {150}
    assert seen[-1] == 151


@pytest.mark.parametrize("wrong", [{"size": 0}, {"channels": 2}, {"num_workers": -1}])
def test_wrong_settings(wrong: dict[str, int]) -> None:
    with pytest.raises(DataError, match="at least"):
        FilePixels([], **{"size": 8, **wrong})


def test_the_contents_hash_reads_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a.bmp"
    Image.fromarray(np.zeros((200, 200, 3), dtype=np.uint8)).save(path)
    pixels = FilePixels([path], 8, root=tmp_path)
    before = contents_hash(pixels), pixels.fingerprint()
    content = bytearray(path.read_bytes())
    assert len(content) > HEAD_BYTES
    content[-1] ^= 1
    path.write_bytes(content)
    again = FilePixels([path], 8, root=tmp_path)
    assert contents_hash(again) != before[0] and again.fingerprint() == before[1]
    assert contents_hash(subset(again, [0])) == contents_hash(at_side(again, 4)) == contents_hash(again)
    assert contents_hash(ArrayPixels(np.zeros((2, 4, 4), dtype=np.uint8))) is None
    path.unlink()
    assert contents_hash(FilePixels([path], 8, root=tmp_path)) not in (None, before[0])
