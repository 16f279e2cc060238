"""The pictures of terminals in the documentation show what the commands print, in the same colors."""

import html
import re
import runpy
from pathlib import Path

from broker_core.testing import EmbeddedBroker

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
STYLE = re.compile(r"\.\S+-(r\d+) \{ (.*?) \}")
IMAGE = re.compile(r"!\[[^]]*]\((?!https?:)([^)]+)\)")
TEXT = re.compile(r'<text class="\S+-(r\d+)" [^>]*>(.*?)</text>', re.DOTALL)


def painted(svg: str) -> list[tuple[str, str]]:
    """Text and style of each piece. Sorted, since partitions are consumed in any order."""
    styles = dict(STYLE.findall(svg))
    return sorted((html.unescape(text).replace("\xa0", " ").strip(), styles[name]) for name, text in TEXT.findall(svg))


def test_the_picture_shows_what_a_terminal_shows(tmp_path: Path) -> None:
    picture = runpy.run_path(str(ROOT / ".ci" / "docs" / "picture.py"))
    with EmbeddedBroker() as broker:
        shown = picture["drawn"](picture["session"](broker, tmp_path))
    assert painted((IMAGES / "terminal.svg").read_text()) == painted(shown), "run make pictures"
    assert len(set(STYLE.findall(shown))) > 1


def test_the_pictures_load_nothing_from_the_network() -> None:
    pictures = list(IMAGES.rglob("*.svg"))
    assert len(pictures) == 21
    assert not any("url(http" in picture.read_text() for picture in pictures)


def test_a_page_shows_every_picture() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {(page.parent / link).resolve() for page in pages for link in IMAGE.findall(page.read_text())}
    assert shown == {path for path in IMAGES.rglob("*") if path.is_file()}


def shape(svg: str) -> set[str]:
    """The words that stand alone at the start of a line: headings, not figures, or what they push to the next line."""
    return {text for text, _ in painted(svg) if re.fullmatch(r"[A-Z][a-z]+|client|broker|topics|problem|warning", text)}


def test_the_screens_show_the_pages_of_the_commands(tmp_path: Path) -> None:
    screens = runpy.run_path(str(ROOT / ".ci" / "docs" / "screens.py"))
    with EmbeddedBroker() as broker:
        shown = screens["pages"](broker, tmp_path)
    kept = {path.stem: path.read_text() for path in (IMAGES / "screens").glob("*.svg")}
    assert set(kept) == {f"{name}-{width}" for name, width in shown}
    for (name, width), text in shown.items():
        svg = kept[f"{name}-{width}"]
        command = f"$ {screens['PAGES'][name]}"
        assert command in text
        assert command in {line for line, _ in painted(svg)}
        assert shape(svg) == shape(screens["PICTURE"]["drawn"](text, width)), "run make pictures"
        assert str(tmp_path) not in text
