"""An audit as a notebook shows it: one harmless piece of HTML."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from audit.result_samples import make_audit, many_classes, nasty_audit, one_image
from PIL import Image

from lond.audit import Audit
from lond.audit.notebook import NOTES, PICTURES, audit_html
from lond.webpage.parts import asset
from lond.webpage.style import VERDICT_STYLES, shown


class Seen(HTMLParser):
    """The tags, attributes and texts of some HTML; it must be well-formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


@pytest.fixture(scope="module")
def found() -> Audit:
    return make_audit()


def test_it_says_what_was_found(found: Audit) -> None:
    seen = Seen(found._repr_html_())
    text = " ".join(" ".join(seen.texts).split())
    for part in (
        "Audit of my images",
        "300 images in 10 classes",
        f"{found.counts['mislabelled']} mislabelled",
        "12.0 % (10.4–13.9 %)",
        "most wrong labels: truck 18.8 %",
        "Two classes have fewer than 50 images",
        "cat/broken.png: the file ends too early",
        "1 image is in the test set as well",
        f"the {PICTURES} surest of {found.counts['foreign']}",
    ):
        assert part in text


def test_pictures_are_part_of_it_and_nothing_else_is_fetched(found: Audit) -> None:
    seen = Seen(audit_html(found))
    sources = [value for name, value in seen.attributes if name == "src"]
    assert len(sources) == sum(
        min(PICTURES, found.counts[kind]) for kind in ("mislabelled", "foreign", "duplicate conflict")
    )
    for source in sources:
        kind, content = source.split(",")
        assert kind == "data:image/jpeg;base64"
        assert max(Image.open(io.BytesIO(base64.b64decode(content))).size) == 32
    assert not {name for name, _ in seen.attributes} & {"href", "onclick", "onerror", "onload"}
    assert "script" not in seen.tags
    assert len(audit_html(found)) < 200_000


def test_hostile_names_stay_text() -> None:
    html = audit_html(nasty_audit())
    html.encode("utf-8")
    seen = Seen(html)
    assert set(seen.tags) <= {"div", "style", "p", "span", "b", "i", "bdi", "ul", "li", "figure", "figcaption", "img"}
    assert any("<script>alert(1)</script>" in text for text in seen.texts)
    assert "\u202e" not in html
    assert "x" * 250 not in html
    assert "and" in html and f"{2 * 8 - NOTES} more" in html


def test_little_is_known_and_nothing_breaks() -> None:
    assert "No rates were estimated" in audit_html(one_image())
    assert "no picture" in audit_html(one_image())
    assert "1 image in 2 classes" in audit_html(one_image("clean"))
    assert "<figure" not in audit_html(one_image("clean"))
    bare = replace(one_image(), summary={}, positions=None)
    Seen(audit_html(bare))
    nulls = replace(one_image(), summary={"rates": None, "notes": None, "problems": None, "leaks": None})
    Seen(audit_html(nulls))
    Seen(audit_html(many_classes(60)))


def test_the_colours_are_those_of_the_page() -> None:
    light, dark = asset("lond.webpage", "base.css").split("prefers-color-scheme: dark", 1)
    script = asset("lond.audit.page", "core.js")
    for verdict, style in VERDICT_STYLES.items():
        name = verdict.split()[0]
        assert re.search(rf"--{name}: ([#0-9a-f]+);", light)[1] == style.colour
        assert re.search(rf"--{name}: ([#0-9a-f]+);", dark)[1] == style.dark_colour
        assert f'mark: "{style.sign}", colour: "--{name}", means: "{style.means}"' in script
    order = re.findall(r'^  "?([a-z ]+)"?: \{ mark', script, re.MULTILINE)
    assert order == [str(verdict) for verdict in VERDICT_STYLES]
    assert len({style.marker for style in VERDICT_STYLES.values()}) == len(VERDICT_STYLES)


def test_text_of_strangers_is_harmless_and_short() -> None:
    assert shown("cat") == "cat"
    assert shown("a\nb\u202ec\udc80") == "a↵b⟨U+202E⟩c\ufffd"
    assert shown("abcdefghij", 5) == "ab…ij"
    assert len(shown("x" * 300, 28)) == 28
