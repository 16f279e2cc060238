"""The picture of a terminal in the README shows what the commands print, in the same colors."""

import html
import re
import runpy
from pathlib import Path

from broker_core.testing import EmbeddedBroker

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
STYLE = re.compile(r"\.\S+-(r\d+) \{ (.*?) \}")
TEXT = re.compile(r'<text class="\S+-(r\d+)" [^>]*>(.*?)</text>', re.DOTALL)


def painted(svg: str) -> list[tuple[str, str]]:
    """Text and style of each piece. Sorted, since partitions are consumed in any order."""
    styles = dict(STYLE.findall(svg))
    return sorted((html.unescape(text).replace("\xa0", " ").strip(), styles[name]) for name, text in TEXT.findall(svg))


def test_the_picture_shows_what_a_terminal_shows(tmp_path: Path) -> None:
    picture = runpy.run_path(str(ROOT / ".ci" / "docs" / "picture.py"))
    with EmbeddedBroker() as broker:
        shown = picture["drawn"](picture["session"](broker, tmp_path))
    assert painted((IMAGES / "terminal.svg").read_text()) == painted(shown), "run .ci/docs/picture.py"
    assert len(set(STYLE.findall(shown))) > 1


def test_the_pictures_load_nothing_from_the_network() -> None:
    pictures = [IMAGES / "terminal.svg", *(IMAGES / "screens").glob("*.svg")]
    assert len(pictures) == 6
    assert not any("url(http" in picture.read_text() for picture in pictures)


def shape(svg: str) -> set[str]:
    """The words that stand alone at the start of a line: headings, not figures, or what they push to the next line."""
    return {text for text, _ in painted(svg) if re.fullmatch(r"[A-Z][a-z]+|client|broker|topics|problem|warning", text)}


def test_the_screens_show_the_pages_of_the_commands(tmp_path: Path) -> None:
    picture = runpy.run_path(str(ROOT / ".ci" / "docs" / "picture.py"))
    with EmbeddedBroker() as broker:
        shown = picture["pages"](broker, tmp_path)
    assert set(shown) == {path.stem for path in (IMAGES / "screens").glob("*.svg")}
    for name, text in shown.items():
        kept = (IMAGES / "screens" / f"{name}.svg").read_text()
        command = f"$ {picture['PAGES'][name]}"
        assert command in text
        assert command in {line for line, _ in painted(kept)}
        assert shape(kept) == shape(picture["drawn"](text)), "run .ci/docs/picture.py"
        assert str(tmp_path) not in text
