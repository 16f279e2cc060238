"""HTML that escapes everything by default. Pure.

Clients choose names, payloads, and properties. A child or an attribute that is not `Html` is escaped, and control
and bidirectional characters become `\\uXXXX`, because they would hide or reorder what a page says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

VOID = frozenset({"br", "input", "link", "meta"})

# C0 without tab and newline, DEL, and C1 (Unicode category Cc); marks, embeddings, overrides, and isolates (UAX #9)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Child = object  # what is neither `Html` nor an iterable of children is text; None is nothing


class Html(str):
    """Markup that is already escaped. Only this module makes it from text."""

    __slots__ = ()


def shown(text: object) -> str:
    """The text with its invisible characters spelled out; not escaped yet."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", str(text))


def markup(*children: Child) -> Html:
    return Html("".join(_piece(child) for child in children))


def _piece(child: Child) -> str:
    if child is None or isinstance(child, Html):
        return child or ""
    if isinstance(child, str | bytes) or not isinstance(child, Iterable):
        return escape(shown(child))
    return markup(*child)


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """An element. `class_` is `class`, `aria_label` is `aria-label`; None and False leave an attribute out."""
    opening = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{opening}>")
    return Html(f"<{name}{opening}>{markup(*children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(shown(value))}"'


def link(address: str, /, *children: Child, **attributes: object) -> Html:
    return tag("a", *children, href=address, **attributes)


def address(page: str, /, **query: object) -> str:
    """The address of a page of the console; parameters that are None or empty are left out."""
    parameters = {key: str(value) for key, value in query.items() if value not in (None, "")}
    return page + (f"?{urlencode(parameters, errors='surrogatepass')}" if parameters else "")


def table(caption: str, headings: Iterable[str], rows: Iterable[Html | Iterable[Child]], **attributes: object) -> Html:
    """Rows are markup already (`row`), or cells. A column whose heading begins with `#` holds numbers."""
    titles = list(headings)
    head = [tag("th", title.removeprefix("#"), scope="col", class_=_kind(title)) for title in titles]
    body = [content if isinstance(content, Html) else row(titles, content) for content in rows]
    parts = tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body)
    return tag("div", tag("table", parts, **attributes), class_="wide", tabindex="0", role="region", aria_label=caption)


def row(headings: Sequence[str], cells: Iterable[Child]) -> Html:
    """A row of a table; the first cell names it."""
    first, *others = cells
    name = tag("th", first, scope="row", class_=_kind(headings[0]))
    pairs = zip(headings[1:], others, strict=True)
    return tag("tr", name, [tag("td", cell, class_=_kind(title)) for title, cell in pairs])


def _kind(title: str) -> str | None:
    return "number" if title.startswith("#") else None
