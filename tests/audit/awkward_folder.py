"""A folder with everything that folders of collected images hold beside plain images."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from audit.audit_samples import write_folder
from PIL import Image

RED, GREEN, BLUE = (220, 30, 30), (30, 220, 30), (30, 30, 220)
ORIENTATION = 0x0112
SIDE = 16

NAMES = (
    "图 ü é.png", "u\u0308 decomposed.png", "new\nline.png", "tab\tname.png", "carriage\rreturn.png", "-rf.png",
    "n" * 251 + ".png", "=1+1.png", "comma, \"quote\" 'n' $(rm).png", "<script><!-- &amp;.png", "pipe|back\\slash.png",
    ":cat: [bold]x.png", " spaces .png",
)  # fmt: skip
"""Awkward names of good images."""

UNREADABLE = {
    "red/cut.jpg": "cut off",
    "blue/cut.jpg": "cut off",
    "red/text.jpg": "not an image in a known format",
    "red/too_large.png": "too large: 12000 x 9000",
    "red/bomb.png": "too large",
    "red/script.jpg": "PostScript",
    "red/zero.jpg": "empty file (0 bytes)",
}
"""Id -> part of the reason of images that get a row, and the verdict unreadable."""

LEFT_OUT = {
    "red/dangling.jpg": "broken link",
    "red/notes.txt": "not an image in a known format",
    "red/pipe.jpg": "not a regular file",
    "red/linked": "link to a folder",
    "stray.jpg": "lies outside the class folders",
    "empty/": "the class folder holds no readable image",
}
"""Id -> part of the reason of what gets no row."""

HIDDEN = ("red/.hidden.png", "red/._apple.jpg", "red/.DS_Store", ".git/red.png")
"""What counts as not there."""


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """Return an image file's bytes."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *further: tuple[bytes, bytes]) -> bytes:
    """Return a PNG file from its raw rows (each with a filter byte in front), also of kinds that Pillow cannot write.

    ``colour`` is 0 for grey and 2 for RGB; ``further`` are chunks (name, data) before the pixels.
    """
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), *further, (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def plain(colour: tuple[int, int, int] = RED, side: int = SIDE, seed: int = 0) -> Image.Image:
    """Return a noisy picture of one colour."""
    noise = np.random.RandomState(seed).randint(-30, 31, (side, side, 3))
    return Image.fromarray((np.array(colour) + noise).clip(0, 255).astype(np.uint8))


def truncated_jpeg() -> bytes:
    """Return the first half of a JPEG file."""
    content = encoded(plain(side=64), "JPEG", quality=95)
    return content[: len(content) // 2]


def cmyk_jpeg() -> bytes:
    """Return a red picture in the colours of print."""
    return encoded(Image.new("RGB", (SIDE, SIDE), RED).convert("CMYK"), "JPEG", quality=95)


def deep_grey_png() -> bytes:
    """Return 16 bits of grey: 100 x 257 on the left, 200 x 257 on the right."""
    values = np.full((SIDE, SIDE), 100 * 257, dtype=np.uint16)
    values[:, SIDE // 2 :] = 200 * 257
    return encoded(Image.fromarray(values), "PNG")


def deep_colour_png(*further: tuple[bytes, bytes]) -> bytes:
    """Return 16 bits a channel, ``RED`` everywhere."""
    row = b"\0" + struct.pack(">3H", *(257 * value for value in RED)) * SIDE
    return png(SIDE, SIDE, 16, 2, row * SIDE, *further)


def palette_png() -> bytes:
    """Return a palette picture: the left half transparent (over black), the right half red."""
    picture = Image.new("P", (SIDE, SIDE), 0)
    picture.putpalette([0, 0, 0, *RED])
    picture.paste(1, (SIDE // 2, 0, SIDE, SIDE))
    return encoded(picture, "PNG", transparency=0)


def moving_gif() -> bytes:
    """Return an animation that begins red and goes on green and blue."""
    first, *others = (Image.new("RGB", (SIDE, SIDE), colour) for colour in (RED, GREEN, BLUE))
    return encoded(first, "GIF", save_all=True, append_images=others, duration=100)


def turned_jpeg(width: int = 48, height: int = 32) -> bytes:
    """Return a picture stored lying: red on the left; upright, red is above blue."""
    picture = Image.new("RGB", (width, height), BLUE)
    picture.paste(RED, (0, 0, width // 2, height))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    return encoded(picture, "JPEG", quality=95, exif=exif)


def huge_png(width: int, height: int) -> bytes:
    """Return a black and white picture of any size, its left half black; a few kilobytes on disk."""
    row = b"\0" + b"\0" * (width // 16) + b"\xff" * (width // 8 - width // 16)
    return png(width, height, 1, 0, row * height)


def bomb_png(side: int = 60_000) -> bytes:
    """Return a header that promises more pixels than Pillow agrees to decode."""
    return png(side, side, 8, 2, b"\0" * 100)


def write_awkward_folder(root: Path) -> None:
    """Write three classes of plain images and all that is awkward, most of it into ``red``."""
    write_folder(root, each=14, foreign=0, wrong=0)
    red = root / "red"
    for place, name in enumerate(NAMES):
        plain(seed=100 + place).save(red / name)
    files = {
        "really_png.jpg": encoded(plain(seed=50), "PNG"),
        "cmyk.jpg": cmyk_jpeg(),
        "deep.png": deep_grey_png(),
        "deep_colour.png": deep_colour_png(),
        "palette.png": palette_png(),
        "moving.gif": moving_gif(),
        "turned.jpg": turned_jpeg(),
        "large.png": huge_png(8000, 6000),
        "cut.jpg": truncated_jpeg(),
        "../blue/cut.jpg": truncated_jpeg(),
        "text.jpg": b"this is no picture\n" * 20,
        "too_large.png": huge_png(12_000, 9_000),
        "bomb.png": bomb_png(),
        "script.jpg": encoded(plain(seed=51), "EPS"),
        "zero.jpg": b"",
        "notes.txt": b"remember the milk",
        "../stray.jpg": encoded(plain(seed=52), "JPEG"),
    }
    for name, content in files.items():
        (red / name).write_bytes(content)
    for name in HIDDEN:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(encoded(plain(seed=53), "PNG"))
    (red / "folder.jpg").mkdir()
    plain(seed=54).save(red / "folder.jpg" / "inside.png")
    (red / "hollow.jpg").mkdir()
    (root / "empty").mkdir()
    (red / "dangling.jpg").symlink_to("nowhere.jpg")
    (red / "linked").symlink_to("../green", target_is_directory=True)
    os.mkfifo(red / "pipe.jpg")
