"""The report as an HTML page: complete, harmless for any name, and drawn by a real browser in light and dark.

`PULSARCTL_WRITE_SCREENSHOTS=1` writes the picture of docs/how-to/backlog.md.
"""

import json
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.backlog.page import page
from tests.cli.backlog.made_reports import namespace_of_twenty, subscription

IMAGES = Path(__file__).parents[3] / "docs" / "images"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1100,1700",
)
COMMAND = "pulsarctl ops backlog shop/eu --html report.html"


class Outline(HTMLParser):
    """The open elements, and what the page would load."""

    VOID = ("meta", "br", "rect", "line")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.loaded += [value or "" for name, value in attributes if name in ("src", "srcset", "data")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    return found


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    found = outline(page(namespace_of_twenty(), COMMAND))
    assert (found.open, found.loaded) == ([], [])
    assert "link" not in found.tags


def test_the_numbers_are_in_the_page_as_json() -> None:
    text = page(namespace_of_twenty(), COMMAND)
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    subscriptions = json.loads(found[1])["subscriptions"]
    assert [each["messages"] for each in subscriptions] == [number * 600 for number in range(20)]


def test_names_cannot_add_elements() -> None:
    hostile = subscription(3, name="</script><img src=x onerror=alert(1)>")
    text = page(replace(namespace_of_twenty(), subscriptions=(hostile,)), "</code><script>alert(1)</script>")
    assert "img" not in outline(text).tags
    assert outline(text).tags.count("script") == 1


def test_a_page_of_twenty_subscriptions_is_small() -> None:
    assert len(page(namespace_of_twenty(), COMMAND)) < 800_000


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on PATH")
def test_a_browser_draws_the_page_in_light_and_dark(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    text = page(namespace_of_twenty(), COMMAND)
    file.write_text(text)
    pictures = {name: screenshot(file, tmp_path, name) for name in ("light", "dark")}
    assert {name: first_pixel(picture) for name, picture in pictures.items()} == {
        "light": (0xFF, 0xFF, 0xFF),
        "dark": (0x12, 0x18, 0x1F),
    }
    assert drawn_bars(file, tmp_path) == text.count("<rect ")
    if os.environ.get("PULSARCTL_WRITE_SCREENSHOTS"):
        shutil.copy(pictures["light"], IMAGES / "backlog-light.png")


def screenshot(file: Path, directory: Path, name: str) -> Path:
    picture = directory / f"{name}.png"
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if name == "dark" else "1")
    browser(directory / name, f"--screenshot={picture}", scheme, file.as_uri())
    return picture


def drawn_bars(file: Path, directory: Path) -> int:
    """How many bars are in the document as the browser understands it."""
    return browser(directory / "dom", "--dump-dom", file.as_uri()).count("<rect ")


def browser(profile: Path, *arguments: str) -> str:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout


def first_pixel(picture: Path) -> tuple[int, int, int]:
    """The upper left pixel, which no filter of PNG changes: it has no neighbors."""
    data, position, compressed = picture.read_bytes(), 8, b""
    while position < len(data):
        length, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        if kind == b"IDAT":
            compressed += data[position + 8 : position + 8 + length]
        position += length + 12
    red, green, blue = zlib.decompressobj().decompress(compressed, 4)[1:]
    return red, green, blue
