from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from lond.errors import DataError, FullDiskError
from lond.io import atomic
from lond.io.atomic import STALE, YOUNG, append_text, write_atomically


def fail(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@pytest.mark.parametrize("content", ["grün\n", "grün\n".encode(), lambda place: place.write_text("grün\n", "utf-8")])
def test_text_bytes_and_functions_are_written(tmp_path: Path, content: object) -> None:
    path = tmp_path / "a.txt"
    for _ in range(2):
        write_atomically(path, content)  # type: ignore[arg-type]
        assert path.read_bytes() == "grün\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "x")
    (tmp_path / "b").write_text("x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), TypeError("no"), fail(errno.ENOSPC)])
def test_what_goes_wrong_leaves_the_old_content_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def half(place: Path) -> None:
        place.write_text("ne")
        raise error

    with pytest.raises(DataError if isinstance(error, OSError) else type(error)):
        write_atomically(path, half)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["_write", "_to_disk"])
@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "no permission"), (errno.EIO, os.strerror(errno.EIO))],
)
def test_the_message_names_the_file_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, code: int, words: str
) -> None:
    def refuse(*_: object) -> None:
        raise fail(code)

    monkeypatch.setattr(atomic, where, refuse)
    with pytest.raises(DataError, match=f"{tmp_path / 'a.txt'} cannot be written: {words}"):
        write_atomically(tmp_path / "a.txt", "new")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_and_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        write_atomically(tmp_path / "none" / "a.txt", "new")
    with pytest.raises(DataError, match="it is a folder"):
        write_atomically(tmp_path, "new")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_that_a_library_tells_of() -> None:
    with pytest.raises(DataError, match="/dev/full cannot be written: the disk is full"):
        write_atomically(Path("/dev/full"), "new")

    def told(place: Path) -> None:
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")

    with pytest.raises(DataError, match="/dev/full cannot be written: the disk is full"):
        write_atomically(Path("/dev/full"), told)


def test_a_folder_of_tensors_that_is_missing_is_told_alike(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a.safetensors"
    with pytest.raises(DataError, match=r"a\.safetensors cannot be written: there is no such folder"):
        write_atomically(path, lambda place: save_file({"x": torch.zeros(2)}, place))


def test_links_stay_and_pipes_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "real" / "a.txt")
    write_atomically(link, "new")
    assert link.is_symlink() and (tmp_path / "real" / "a.txt").read_text() == "new"
    pipe, got = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "through")
    reader.join(timeout=10)
    assert got == ["through"]


def test_what_a_killed_process_left_is_removed_later(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in ("a.txt.1.tmp", "a.txt.2.tmp", "b.txt.1.tmp"))
    for path in (old, young, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (0, time.time() - STALE - 1))
    write_atomically(tmp_path / "a.txt", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", young.name, other.name]


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_what_a_dead_process_left_goes_after_a_minute_or_when_its_room_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, dead = tmp_path / "a.txt", ended_process()
    young = tmp_path / f"a.txt.{atomic._HOST}-{dead}-0.tmp"
    old = tmp_path / f"a.txt.{atomic._HOST}-{dead}-1.tmp"
    living = tmp_path / f"a.txt.{atomic._HOST}-{os.getppid()}-0.tmp"
    elsewhere = tmp_path / f"a.txt.{atomic._HOST}x-{dead}-0.tmp"
    for place in (young, old, living, elsewhere):
        place.write_text("half")
    for place in (old, living, elsewhere):
        os.utime(place, (0, time.time() - YOUNG - 1))
    write_atomically(path, "new")
    assert set(tmp_path.iterdir()) == {path, young, living, elsewhere}
    real, tries = atomic._write, []

    def full(*arguments: object) -> None:
        tries.append(young.exists())
        if young.exists():
            raise fail(errno.ENOSPC)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(atomic, "_write", full)
    write_atomically(path, "newer")
    assert path.read_text() == "newer" and tries == [True, False]
    assert set(tmp_path.iterdir()) == {path, living, elsewhere}


def test_a_folder_in_place_of_the_temporary_file_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    folder = tmp_path / f"a.txt.{atomic._HOST}-{os.getpid()}-0.tmp"
    (folder / "full").mkdir(parents=True)
    link = tmp_path / f"a.txt.{atomic._HOST}-{os.getpid()}-1.tmp"
    link.symlink_to(tmp_path / "elsewhere")
    write_atomically(path, "new")
    assert path.read_text() == "new" and set(tmp_path.iterdir()) == {path, folder, link}


def test_a_full_disk_is_an_error_of_its_own(tmp_path: Path) -> None:
    def full(place: Path) -> None:
        raise fail(errno.ENOSPC)

    with pytest.raises(FullDiskError, match="free some space and start again"):
        write_atomically(tmp_path / "a", full)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_adding_to_a_file(tmp_path: Path) -> None:
    for text in ("grün\n", "blau\n"):
        append_text(tmp_path / "a", text)
    assert (tmp_path / "a").read_text("utf-8") == "grün\nblau\n"
    with pytest.raises(FullDiskError, match="/dev/full cannot be written: the disk is full"):
        append_text(Path("/dev/full"), "more")
    with pytest.raises(DataError, match="there is no such folder"):
        append_text(tmp_path / "none/a", "more")
