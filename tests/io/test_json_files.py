from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lond.errors import DamagedFileError, DataError
from lond.io.json_files import (
    json_line,
    load_object,
    parse_object,
    plain,
    read_json,
    read_json_lines,
    read_sealed_json,
    write_json,
    write_sealed_json,
)


def test_plain_values() -> None:
    value = {1: (math.nan, [math.inf, 2.5]), "p": Path("a/b"), "n": None, "b": True, "t": "ü"}
    assert plain(value) == {"1": [None, [None, 2.5]], "p": "a/b", "n": None, "b": True, "t": "ü"}


def test_json_is_strict_and_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_json(path, {"a": math.nan, "name": "Blaumeise ü"})
    text = path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "ü" in text
    assert json.loads(text) == read_json(path) == {"a": None, "name": "Blaumeise ü"}
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == "Blaumeise ü"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", r"damaged \(Expecting"),
        (b"", "damaged"),
        (b"null", r"damaged \(null in place of an object\)"),
        (b"[1, 2]", "list in place of an object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "damaged"),
        (b"\xff\xfe{}", r"unreadable \(not UTF-8 text\)"),
        (None, "unreadable"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "m.json"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=f"{path} is .*{words}") as named:
        read_json(path)
    with pytest.raises(DataError, match=words) as bare:
        load_object(path)
    assert str(named.value) == f"{path} is {bare.value}"
    assert "\n" not in str(named.value)
    with pytest.raises(DataError, match="gone.json is unreadable"):
        read_json(tmp_path / "gone.json")


def test_lines_are_read_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json_line({"epoch": 0, "loss": math.inf}) + json_line({"epoch": 1}), encoding="utf-8")
    assert read_json_lines(path) == [{"epoch": 0, "loss": None}, {"epoch": 1}]
    with path.open("a") as file:
        file.write('{"epoch": 2, "lo')
    with pytest.raises(DataError, match=rf"{path} is damaged \(.*\), line 3"):
        read_json_lines(path)
    path.unlink()
    with pytest.raises(DataError, match=r"log\.jsonl is unreadable \([^)]*\)$"):
        read_json_lines(path)


def test_a_sealed_file_notices_every_change(tmp_path: Path) -> None:
    path, content = tmp_path / "a.json", {"b": [1.5, None, float("nan")], "a": {"ü": True}}
    write_sealed_json(path, content)
    assert read_sealed_json(path) == {"b": [1.5, None, None], "a": {"ü": True}}
    text = path.read_text("utf-8")
    for old, new in (("1.5", "1.6"), ("true", "false"), ("ü", "u"), ('"b"', '"c"')):
        path.write_text(text.replace(old, new), "utf-8")
        with pytest.raises(DamagedFileError, match=r"a\.json is damaged \(its content is not what was written\)"):
            read_sealed_json(path)
    path.write_text('{"b": 1}')
    assert read_sealed_json(path) == {"b": 1}


@pytest.mark.parametrize("text", ['{"a": 1e999}', '{"a": -1e999}', '{"a": ' + "[" * 80 + "]" * 80 + "}", "[" * 100_000])
def test_numbers_too_large_and_lists_too_deep_are_damage(text: str) -> None:
    with pytest.raises(DataError, match=r"^damaged \("):
        parse_object(text)
