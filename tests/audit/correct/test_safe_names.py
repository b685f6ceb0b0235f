"""Names for folders and files out of any text."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lond.audit.correct.safe_names import LONGEST, NameBook, safe_name


@pytest.mark.parametrize(
    "name", ["cat", "golden retriever", "日本語", "naïve", "a.b", "n02100735", "x-ray", "C++", "_"]
)
def test_harmless_names_stay(name: str) -> None:
    assert safe_name(name) == name
    assert safe_name(name, ".png") == f"{name}.png"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("", "_"), (".", "_"), ("..", "__"), ("../../etc", "_._.._etc"), ("/etc/passwd", "_etc_passwd"), ("a/b", "a_b"),
        ("a\\b", "a_b"), ("a\0b", "a_b"), ("a\nb", "a_b"), (".hidden", "_hidden"), ("end.", "end_"), ("end ", "end_"),
        (" a", "_a"), ("-rf", "_rf"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("com1", "_com1"),
        ("C:", "C_"), ("a\u202egnp", "a_gnp"), ("\udce9", "_udce9"), ("console", "console"),
    ],
)  # fmt: skip
def test_others_are_made_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_endings() -> None:
    assert safe_name("con", ".png") == "_con.png"
    assert safe_name(".x", ".JPG") == "_x.JPG"
    assert safe_name("a.", ".png") == "a..png"
    assert safe_name("a", ".p/../g") == "a.p_.._g"
    assert safe_name("a", "." + "x" * 300) == "a"


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["", ".png", "./..", ".", "\0"]))
def test_any_text_gives_one_step_of_a_path(name: str, ending: str) -> None:
    safe = safe_name(name, ending)
    assert safe and len(safe.encode("utf-8")) <= LONGEST
    assert not set(safe) & set('/\\\0\n:*?"<>|')
    assert not safe.startswith((".", "-", " ")) and not safe.endswith((".", " "))
    assert os.path.basename(os.path.normpath(os.path.join("root", safe))) == safe
    assert Path("root", safe).parent == Path("root")


def test_long_names_are_cut_and_stay_different() -> None:
    one, other = safe_name("ü" * 500 + "1", ".png"), safe_name("ü" * 500 + "2", ".png")
    assert one != other and one.endswith(".png") and len(one.encode()) <= LONGEST


def test_names_are_given_out_once() -> None:
    book = NameBook("Index.csv")
    assert [book.take(name) for name in ("a", "A", "a/b", "a_b", "a_2", "a")] == [
        "a",
        "A_2",
        "a_b",
        "a_b_2",
        "a_2_2",
        "a_3",
    ]
    assert book.take("index.CSV") == "index.CSV_2"
    assert [book.take("x", ".png") for _ in range(3)] == ["x.png", "x_2.png", "x_3.png"]
    assert book.take("x", ".jpg") == "x.jpg"
    assert len({book.take("e\u0301"), book.take("\u00e9")}) == 2
