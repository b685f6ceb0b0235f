"""The parts of a page: nothing runs or loads but what the page brings, and what comes from outside stays text."""

from __future__ import annotations

import base64
import hashlib
import re

from lond.webpage.parts import asset, data_uri, fill, policy, render_page, safe_text


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_allows_its_own_style_and_script_alone() -> None:
    page = render_page("<b>", "<p>{{TITLE}}</p>", style="p { color: red; }", script="run()").decode()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style == asset("lond.webpage", "base.css") + "p { color: red; }"
    (told,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert told == policy(style, "run()")
    assert f"style-src '{digest(style)}'" in told and f"script-src '{digest('run()')}'" in told
    assert told.startswith("default-src 'none'; ") and "http" not in told
    assert "script-src" not in policy(style)
    # What looks like a place-holder in the body is no place-holder.
    assert "<title>&lt;b&gt;</title>" in page and "<body>\n<p>{{TITLE}}</p>\n</body>" in page


def test_half_a_character_does_not_stop_a_page() -> None:
    assert b"<title>a?b</title>" in render_page("a\ud800b", "")


def test_place_holders_are_filled_once() -> None:
    assert fill("{{A}} {{B}} {b}", {"A": "{{B}}", "B": "2"}) == "{{B}} 2 {b}"


def test_text_from_outside_stays_text() -> None:
    assert safe_text("<a & b>") == "<bdi>&lt;a &amp; b&gt;</bdi>"
    assert safe_text("\u202eabc\n") == "<bdi>⟨U+202E⟩abc↵</bdi>"
    assert len(safe_text("x" * 100, 20)) == len("<bdi></bdi>") + 20


def test_pictures_are_part_of_the_page() -> None:
    assert data_uri(b"abc", "image/png") == "data:image/png;base64,YWJj"
