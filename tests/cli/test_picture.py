"""The picture of a terminal in the README shows what the commands print, in the same colors."""

import html
import re
import runpy
from pathlib import Path

from broker_core.testing import EmbeddedBroker

DOCS = Path(__file__).parents[2] / "docs"
STYLE = re.compile(r"\.\S+-(r\d+) \{ (.*?) \}")
TEXT = re.compile(r'<text class="\S+-(r\d+)" [^>]*>(.*?)</text>', re.DOTALL)


def painted(svg: str) -> list[tuple[str, str]]:
    """Text and style of each piece. Sorted, since partitions are consumed in any order."""
    styles = dict(STYLE.findall(svg))
    return sorted((html.unescape(text).replace("\xa0", " ").strip(), styles[name]) for name, text in TEXT.findall(svg))


def test_the_picture_shows_what_a_terminal_shows(tmp_path: Path) -> None:
    picture = runpy.run_path(str(DOCS / "picture.py"))
    with EmbeddedBroker() as broker:
        shown = picture["drawn"](picture["session"](broker, tmp_path))
    assert painted((DOCS / "terminal.svg").read_text()) == painted(shown), "run docs/picture.py"
    assert len(set(STYLE.findall(shown))) > 1


def test_the_picture_loads_nothing_from_the_network() -> None:
    assert "url(http" not in (DOCS / "terminal.svg").read_text()
