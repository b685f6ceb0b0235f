"""An audit as a notebook shows it: counts, rates, notes and a few pictures in one piece of HTML without network."""

from __future__ import annotations

import html
import io

from lond.audit.contents import AuditContents, told_leaks
from lond.audit.page.style import RATES, Rate, caption, class_rates, read_rate
from lond.types import Verdict
from lond.webpage.parts import asset, data_uri, safe_text
from lond.webpage.style import VERDICT_STYLES, shown

PICTURES = 6
"""Pictures of each verdict."""

SIDE = 144
"""Longest side of a picture, in pixels; the style sheet knows it, too."""

LETTERS = 18
"""Most letters of a label below a picture, so that its chance has room."""

NOTES = 8
"""Most notes that are listed."""

_PICTURED = (Verdict.MISLABELLED, Verdict.FOREIGN, Verdict.DUPLICATE_CONFLICT)

_DARK = ('[data-jp-theme-light="false"]', "html[theme=dark]", ".vscode-dark", ".vscode-high-contrast")
"""How JupyterLab, Colab and VS Code say that they are dark.

Text has the notebook's own colour, which fits its ground. The system's wish for dark pages says nothing about that
ground, so it is not asked.
"""


def audit_html(found: AuditContents) -> str:
    """Return the HTML; names are escaped, and pictures are part of it."""
    parts = [_head(found), _rates(found), _notes(found)]
    parts += [_group(found, verdict) for verdict in _PICTURED]
    return f'<div class="lond-audit"><style>{_style()}</style>{"".join(parts)}</div>'


def _style() -> str:
    def colours(dark: bool) -> str:
        return "".join(
            f"--{_word(verdict)}:{style.dark_colour if dark else style.colour};"
            for verdict, style in VERDICT_STYLES.items()
        )

    where = ", ".join(f"{dark} .lond-audit" for dark in _DARK)
    rest = asset("lond.audit.page", "notebook.css")
    return f".lond-audit {{ {colours(False)} }}\n{where} {{ {colours(True)} }}\n{rest}"


def _word(verdict: Verdict) -> str:
    return "lond-" + verdict.replace(" ", "-")


def _sign(verdict: Verdict) -> str:
    sign = VERDICT_STYLES[verdict].sign
    return f'<span class="sign" aria-hidden="true" style="color:var(--{_word(verdict)})">{sign}</span>'


def _head(found: AuditContents) -> str:
    counts = {verdict: found.counts[str(verdict)] for verdict in VERDICT_STYLES if found.counts[str(verdict)]}
    strip = "".join(
        f'<span style="flex-grow:{count};background:var(--{_word(verdict)})"></span>'
        for verdict, count in counts.items()
    )
    entries = "".join(
        f'<span title="{VERDICT_STYLES[verdict].means}">{_sign(verdict)} <b>{count:,}</b> {verdict}'
        f' <span class="quiet number">{_share(count, len(found))}</span></span>'
        for verdict, count in counts.items()
    )
    many = f"{len(found):,} image{'' if len(found) == 1 else 's'} in {len(found.class_names):,} classes"
    return (
        f'<p class="name">{safe_text(found.title, 120)}</p><p class="quiet">{many}</p>'
        f'<div class="strip" aria-hidden="true">{strip}</div><div class="counts">{entries}</div>'
    )


def _share(count: int, total: int) -> str:
    share = 100 * count / max(1, total)
    return "&lt; 0.1 %" if share < 0.1 else f"{share:.1f} %"


def _rates(found: AuditContents) -> str:
    rates = {kind: rate for kind in RATES if (rate := read_rate(found.summary.get("rates"), kind)) is not None}
    if not rates:
        return '<p class="quiet">No rates were estimated.</p>'
    top = 1.05 * max(0.01, *(rate.high for rate in rates.values()), 0.01)
    lines = "".join(_rate_line(*RATES[kind], rate, top) for kind, rate in rates.items())
    return f'<div class="rates">{lines}</div>{_worst(found)}'


def _rate_line(name: str, verdict: Verdict, rate: Rate, top: float) -> str:
    colour = f"background:var(--{_word(verdict)})"
    low, width = 100 * rate.low / top, 100 * max(0.0, rate.high - rate.low) / top
    return (
        f'<span>{_sign(verdict)} estimated {name}</span><span class="track" aria-hidden="true">'
        f'<i style="left:{low:.2f}%;width:{width:.2f}%;{colour}"></i>'
        f'<b style="left:{100 * rate.estimate / top:.2f}%;{colour}"></b></span><span class="number">{rate}</span>'
    )


def _worst(found: AuditContents) -> str:
    """Name the classes with the most wrong labels."""
    classes = [(rate, name) for name, entry in class_rates(found.summary) if (rate := read_rate(entry, "wrong"))]
    classes.sort(key=lambda entry: -entry[0].estimate)
    if len(classes) < 2:
        return ""
    worst = ", ".join(f"{safe_text(name, 30)} {100 * rate.estimate:.1f} %" for rate, name in classes[:3])
    return f'<p class="quiet">most wrong labels: {worst}</p>'


def _notes(found: AuditContents) -> str:
    summary = found.summary
    notes = [*(summary.get("notes") or ())]
    notes += [f"{entry.get('id', '')}: {entry.get('reason', '')}" for entry in summary.get("problems") or ()]
    leaks = len(summary.get("leaks") or ())
    if leaks:
        notes.insert(0, told_leaks(leaks))
    if not notes:
        return ""
    listed = "".join(f"<li>{safe_text(note, 200)}</li>" for note in notes[:NOTES])
    more = f'<li class="quiet">and {len(notes) - NOTES:,} more</li>' if len(notes) > NOTES else ""
    return f"<ul>{listed}{more}</ul>"


def _group(found: AuditContents, verdict: Verdict) -> str:
    places = found.places(verdict)
    pictures = "".join(_figure(found, place) for place in places[:PICTURES])
    if not pictures:
        return ""
    few = f", the {PICTURES} surest of {len(places):,}" if len(places) > PICTURES else ""
    return (
        f'<div class="group">{_sign(verdict)} <b>{verdict}</b> '
        f'<span class="quiet">{VERDICT_STYLES[verdict].means}{few}</span>'
        f'<div class="pictures">{pictures}</div></div>'
    )


def _figure(found: AuditContents, place: int) -> str:
    """Return one picture with its labels, or a frame that says that there is none."""
    table = found.table
    given, other, said = (html.escape(text) for text in caption(table, place, LETTERS))
    lines = [f"<span>{given}</span>", *([f"<span>{other}</span>"] if other else [])]
    lines.append(f'<span class="quiet">{said or "&nbsp;"}</span>')
    name = html.escape(shown(table.id[place], 160))
    picture = _picture(found, place)
    frame = f'<img src="{picture}" alt="">' if picture else '<span class="quiet">no picture</span>'
    return f'<figure title="{name}"><div class="frame">{frame}</div><figcaption>{"".join(lines)}</figcaption></figure>'


def _picture(found: AuditContents, place: int) -> str:
    picture = found.picture(place)
    if picture is None:
        return ""
    picture.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=82)
    return data_uri(file.getvalue(), "image/jpeg")
