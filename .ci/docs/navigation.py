"""The order of the pages: each `index.md` lists those of its section, one line for each, under headings.

The menu of the site and llms.txt are made from these lists.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECTIONS = {"tutorial": "Tutorial", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation"}
ENTRY = re.compile(r"^- \[(?P<title>[^]]+)]\((?P<link>[^)]+\.md)\):? *(?P<about>.*)$")


@dataclass(frozen=True)
class Entry:
    """A page as its section lists it. `path` is relative to the directory of all pages."""

    heading: str
    title: str
    path: str
    about: str


def entries(pages: Path, index: str) -> Iterator[Entry]:
    heading = ""
    for line in (pages / index).read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif match := ENTRY.match(line):
            yield Entry(heading, match["title"], str(Path(index).parent / match["link"]), match["about"])


def menu(pages: Path) -> list[object]:
    """`nav` of the site."""
    return [{"Start": "index.md"}, *({title: _below(pages, f"{name}/index.md")} for name, title in SECTIONS.items())]


def listed(pages: Path) -> list[str]:
    """Every page of the menu."""
    return ["index.md", *(path for name in SECTIONS for path in _listed(pages, f"{name}/index.md"))]


def llms_txt(pages: Path, summary: str) -> str:
    """A list of the pages for programs that read text: https://llmstxt.org."""
    lines = ["# pulsarctl", "", f"> {summary}"]
    for name, title in SECTIONS.items():
        lines += ["", f"## {title}", ""]
        lines += [f"- [{entry.title}]({entry.path}): {entry.about}" for entry in entries(pages, f"{name}/index.md")]
    return "\n".join(lines) + "\n"


def _below(pages: Path, index: str) -> list[object]:
    found: list[object] = [index]
    groups: dict[str, list[object]] = {}
    for entry in entries(pages, index):
        item = {entry.title: _below(pages, entry.path) if entry.path.endswith("index.md") else entry.path}
        groups.setdefault(entry.heading, []).append(item)
    for heading, items in groups.items():
        found += [{heading: items}] if heading else items
    return found


def _listed(pages: Path, index: str) -> Iterator[str]:
    yield index
    for entry in entries(pages, index):
        yield from _listed(pages, entry.path) if entry.path.endswith("index.md") else (entry.path,)
