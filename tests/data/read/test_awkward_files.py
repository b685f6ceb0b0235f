"""Gigantic pictures, deep ones, files that are no pictures, and folders that cannot be entered."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import PIL
import pytest
from audit import awkward_folder as awkward
from PIL import Image

from lond.data import images
from lond.data.images import check_file, decode_bytes, read_bytes, to_rgb
from lond.data.options import ReadOptions
from lond.data.read.files import guess_size, relative_name, with_odd_bytes
from lond.data.read.folders import read_folder

IN_PROCESS = ReadOptions(num_workers=0)


def _noise(mode: str) -> Image.Image:
    values = np.random.default_rng(0).integers(0, 256, (64, 80, 4), dtype=np.uint8)
    if mode in ("I", "F", "I;16"):
        kind = {"I": np.int32, "F": np.float32, "I;16": np.uint16}[mode]
        return Image.fromarray(values[..., 0].astype(kind) * kind(200))
    picture = Image.fromarray(values)
    return picture.convert("RGB").convert(mode) if mode in ("P", "CMYK", "YCbCr") else picture.convert(mode)


@pytest.fixture
def small_is_gigantic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "GIGANTIC", 1000)
    monkeypatch.setattr(images, "_STRIP", 700)


@pytest.mark.usefixtures("small_is_gigantic")
@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "I", "F", "I;16"])
def test_strips_change_nothing_but_the_size(mode: str) -> None:
    if mode == "YCbCr" and int(PIL.__version__.split(".")[0]) < 13:
        pytest.skip("Pillow before 13 cannot read the TIFF files of this mode that it wrote")
    picture = _noise(mode)
    content = awkward.encoded(picture, "PNG" if mode in ("P", "LA", "RGBA") else "TIFF")
    whole = to_rgb(picture)
    assert np.array_equal(np.asarray(decode_bytes(content)), np.asarray(whole))
    assert np.array_equal(np.asarray(decode_bytes(content, min_side=10)), np.asarray(whole.reduce(3)))


@pytest.mark.usefixtures("small_is_gigantic")
def test_gigantic_pictures_are_turned_and_laid_on_white() -> None:
    exif = Image.Exif()
    exif[awkward.ORIENTATION] = 6
    picture = Image.new("RGBA", (96, 64), (0, 0, 0, 0))
    picture.paste((*awkward.RED, 255), (0, 0, 48, 64))
    for kind in ("PNG", "WEBP", "TIFF"):
        content = awkward.encoded(picture, kind, exif=exif, **({"lossless": True} if kind == "WEBP" else {}))
        seen = np.asarray(decode_bytes(content, min_side=16))
        assert seen.shape == (48, 32, 3)
        assert (seen[:24] == awkward.RED).all()
        assert (seen[24:] == 255).all()


def test_memory_holds_a_gigantic_picture_once(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = []

    def watched(image: Image.Image, white: float | None = None) -> Image.Image:
        converted.append(image.width * image.height)
        return to_rgb(image, white)

    monkeypatch.setattr(images, "to_rgb", watched)
    picture = decode_bytes(awkward.huge_png(8000, 6000), min_side=100)
    assert picture.size == (267, 200)
    assert max(converted) <= images._STRIP
    assert sum(converted) == 8000 * 6000


def test_large_jpegs_and_pictures_that_are_refused_are_never_decoded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    real = Image.core.new

    def allocated(mode: str, size: tuple[int, int]) -> object:
        loaded.append(size[0] * size[1])
        return real(mode, size)

    content = awkward.turned_jpeg(6000, 4000)
    monkeypatch.setattr(Image.core, "new", allocated)
    assert decode_bytes(content, min_side=100).size == (500, 750)
    for refused in (awkward.huge_png(12_000, 9_000), awkward.bomb_png()):
        with pytest.raises(images.UnreadableImage, match="too large"):
            decode_bytes(refused, min_side=100)
    assert loaded == [500 * 750]


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (np.array([[0, 100, 255]], dtype=np.int32), [0, 100, 255]),
        (np.array([[0, 257 * 100, 65535]], dtype=np.int32), [0, 100, 255]),
        (np.array([[-5, 2**30, 2**31 - 1]], dtype=np.int32), [0, 128, 255]),
        (np.array([[0, 1, np.inf, -np.inf]], dtype=np.float32), [0, 255, 255, 0]),
        (np.array([[0, 500, 1000, np.nan]], dtype=np.float32), [0, 128, 255, 0]),
    ],
)
def test_deep_grey_without_a_known_white_is_neither_black_nor_white(values: np.ndarray, seen: list[int]) -> None:
    assert np.asarray(to_rgb(Image.fromarray(values)))[0, :, 0].tolist() == seen


@pytest.mark.parametrize("transparent", [False, True])
def test_sixteen_bits_a_channel_with_a_transparent_colour(transparent: bool) -> None:
    colour = awkward.RED if transparent else awkward.BLUE
    key = b"".join((257 * value).to_bytes(2, "big") for value in colour)
    seen = np.asarray(decode_bytes(awkward.deep_colour_png((b"tRNS", key))))
    assert (seen == (255 if transparent else np.array(awkward.RED))).all()


def test_postscript_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object, **options: object) -> None:
        raise AssertionError("a program was run")

    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", run)
    path = tmp_path / "picture.jpg"
    Image.new("RGB", (8, 8)).save(path, "EPS")
    assert "PostScript" in str(check_file(path))


def test_a_film_called_jpg_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "film.jpg"
    with path.open("wb") as file:
        file.truncate(images.MAX_BYTES + 1)
    with pytest.raises(images.UnreadableImage, match="too large: more than"):
        read_bytes(path)


def test_the_size_is_that_of_the_one_good_image_among_many_damaged(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.png" for number in range(80)]
    for path in paths:
        path.write_bytes(b"damaged")
    Image.new("RGB", (40, 30)).save(paths[33])
    assert guess_size(paths) == 30


def test_folders_that_cannot_be_entered_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cat/1.png", "cat/secret/2.png", "dog/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    (tmp_path / "dog" / "others").symlink_to("../cat", target_is_directory=True)
    (tmp_path / "dog" / "round.png").symlink_to("round.png")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    samples = read_folder(tmp_path, options=IN_PROCESS)
    assert samples.ids == ("cat/1.png", "dog/3.png")
    reasons = {problem.id: problem.reason for problem in samples.problems}
    assert reasons.pop("cat/secret") == "the folder cannot be read (Permission denied)"
    assert reasons.pop("dog/others").startswith("a link to a folder")
    assert "symbolic links" in reasons.pop("dog/round.png")
    assert not reasons


def test_odd_bytes_go_and_come_back() -> None:
    assert relative_name("/a/b\udcff\udc80.png", "/a") == "b\\xff\\x80.png"
    assert with_odd_bytes("b\\xff\\udc80.png") == "b\udcff\udc80.png"
    assert with_odd_bytes("c\\x41\\xZZ.png") == "c\\x41\\xZZ.png"
    assert relative_name("/a/..b/c.png", "/a") == "..b/c.png"
