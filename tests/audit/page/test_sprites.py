"""Thumbnails in sheets: which get a place, how large they are, and that a budget is kept."""

from __future__ import annotations

import io

import numpy as np
import pytest
from audit.page.page_samples import make_thumbnail, numbers
from PIL import Image

from lond.audit.page.sprites import COLUMNS, MARGIN, make_sprites, no_sprites
from lond.errors import DataError


def test_no_side_is_larger_than_the_pictures() -> None:
    sprites = make_sprites(range(20), lambda row: make_thumbnail(row, 28), budget=10**6)
    assert sprites.side == 32 and sprites.sizes[1].tolist() == [28, 28] and sprites.count == 20


def test_pictures_that_fail_or_are_no_rgb_do_not_stop_the_page() -> None:
    def thumbnails(row: int) -> Image.Image | None:
        if row == 0:
            raise DataError("cannot be read")
        return None if row == 1 else make_thumbnail(row).convert("L" if row == 2 else "RGBA")

    sprites = make_sprites(range(5), thumbnails, budget=10**6)
    assert (sprites.slots >= 0).tolist() == [False, False, True, True, True]


def test_sheets_are_filled_in_the_order_asked_for() -> None:
    rows = 2 * COLUMNS**2 + 3
    order = list(reversed(range(rows)))
    sprites = make_sprites(order, lambda row: make_thumbnail(row, 32), budget=10**7)
    assert [int(sprites.slots[row]) for row in order] == list(range(rows))
    assert sprites.firsts == [0, COLUMNS**2, 2 * COLUMNS**2]
    sizes = [Image.open(io.BytesIO(sheet)).size for sheet in sprites.sheets]
    pitch = 32 + 2 * MARGIN
    assert sizes == [(pitch * COLUMNS, pitch * COLUMNS)] * 2 + [(3 * pitch, pitch)]


def test_pictures_do_not_show_their_neighbours() -> None:
    """Beside black ones, grey pictures stay grey to the edge, of whatever shape they are."""
    shapes = ((64, 64), (64, 40), (33, 64), (64, 64))
    colours = ((120, 130, 110), (0, 0, 0), (120, 130, 110), (255, 0, 0))
    pictures = [Image.new("RGB", shape, colour) for shape, colour in zip(shapes, colours, strict=True)]
    sprites = make_sprites(range(40), lambda row: pictures[row % 4], budget=10**6)
    sheet = np.asarray(Image.open(io.BytesIO(sprites.sheets[0])).convert("RGB"), dtype=int)
    pitch = sprites.side + 2 * MARGIN
    for row in range(40):
        top, left = (MARGIN + pitch * at for at in divmod(row, COLUMNS))
        width, height = sprites.sizes[row].tolist()
        cut = sheet[top : top + height, left : left + width]
        assert abs(cut - cut[height // 2, width // 2]).max() <= 4, row


def test_where_not_all_fit_the_first_of_the_order_get_a_thumbnail() -> None:
    def noise(row: int) -> Image.Image:
        return Image.fromarray(np.random.default_rng(row).integers(0, 256, (32, 32, 3), dtype=np.uint8))

    sprites = make_sprites(range(64), noise, budget=20_000)
    assert 0 < sprites.count < 64 and sprites.used <= 20_000
    assert (sprites.slots >= 0).tolist() == [row < sprites.count for row in range(64)]
    assert make_sprites(range(64), noise, budget=10).sheets == []


def test_long_pictures_keep_their_shape() -> None:
    sprites = make_sprites([0], lambda row: Image.new("RGB", (960, 2)), budget=10**6)
    assert sprites.side == 192 and sprites.sizes.tolist() == [[192, 1]]


def test_large_thumbnails_have_a_smaller_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def noise(row: int) -> Image.Image:
        return Image.fromarray(np.random.default_rng(row).integers(0, 256, (200, 200, 3), dtype=np.uint8))

    monkeypatch.setattr("lond.audit.page.sprites.LARGE_BUDGET", 240_000)
    sides = [make_sprites(range(count), noise, budget=10**7).side for count in (6, 12, 40)]
    assert sides == [192, 128, 96]


def test_a_page_without_thumbnails_says_so() -> None:
    for sprites in (no_sprites(2), make_sprites([0, 1], lambda row: None, budget=10**6)):
        told = sprites.description()
        assert (told["side"], told["count"], told["firsts"]) == (0, 0, [])
        assert numbers(told["slots"]).tolist() == [-1, -1]
    assert make_sprites([], lambda row: None, budget=10**6).count == 0
