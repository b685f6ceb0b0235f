"""A page that is one file without network: skeleton, policy and style, safe text, pictures inside."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from importlib import resources

from lond.webpage.style import shown

ROOM = "lond.webpage"


def render_page(title: str, body: str, *, style: str = "", script: str = "") -> bytes:
    """Return a whole page: the base style and ``style``, and a policy that allows nothing but them and the script.

    Args:
        title: plain text.
        body: HTML, in which all that comes from outside is escaped.
        style: CSS that goes on from the base style.
        script: the text of the one script in the body, if it has one.
    """
    style = asset(ROOM, "base.css") + style
    values = {"POLICY": policy(style, script), "TITLE": html.escape(title), "STYLE": style, "BODY": body}
    # A title may hold half a surrogate pair, which no encoding knows.
    return fill(asset(ROOM, "skeleton.html"), values).encode("utf-8", errors="replace")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return a template with its ``{{NAME}}`` filled in; what looks like a place-holder in a value stays."""
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: values[match[1]], template)


def policy(style: str, script: str = "") -> str:
    """Return a content security policy: this style, this script, pictures of the page's own, and nothing else."""
    scripts = f"script-src '{_digest(script)}'; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src '{_digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``assets`` of a package."""
    text = resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")
    # The policy's digests hold for what the browser sees, which is LF only.
    return text.replace("\r\n", "\n")


def safe_text(text: object, most: int = 60) -> str:
    """Return text as HTML, made harmless, visible and short."""
    # Letters that run from right to left stay within their name.
    return f"<bdi>{html.escape(shown(text, most))}</bdi>"


def data_uri(content: bytes, mime: str) -> str:
    """Return a picture as the ``src`` of an image."""
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
