"""What comments, docstrings, and documents cite from this repository exists."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = (".py", ".md", ".yaml", ".yml", ".toml", "Makefile")
FOLDERS = "broker_core|cli|conf|demo|docs|proto|tests"

FILE = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w\.(?:md|py|yaml|proto|svg))\b")
SECTION = re.compile(r'(docs/[\w/-]+\.md)[,:]?\s+(?:#\s*)?"([^"]+)"')
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
NUMBER = re.compile(r"\b(?:rules?|semantics)\b[,:]?(?: section)? \d+(?:\.\d+)?\b|\bsection \d+(?:\.\d+)? of the rules")
ABOUT_CITATIONS = ("tests/test_citations.py", "tests/test_english.py")


def texts() -> dict[str, str]:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in tracked if name.endswith(READ) and name not in ABOUT_CITATIONS]
    return {name: (ROOT / name).read_text("utf-8") for name in names if (ROOT / name).is_file()}


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_file_that_is_cited_exists() -> None:
    missing = [
        f"{name}: {cited}"
        for name, text in texts().items()
        for cited in FILE.findall(text)
        if not (ROOT / cited).exists()
    ]
    assert not missing


def test_every_section_that_is_cited_exists() -> None:
    cited = [(name, *found) for name, text in texts().items() for found in SECTION.findall(text)]
    assert len(cited) > 10, "the pattern finds citations"
    missing = [one for one in cited if " ".join(one[2].split()) not in headings(ROOT / one[1])]
    assert not missing


def test_every_link_between_documents_resolves() -> None:
    broken = []
    for name, text in texts().items():
        for page, section in LINK.findall(text) if name.endswith(".md") else ():
            target = (ROOT / name).parent / page if page else ROOT / name
            known = target.exists() and (not section or section in map(anchor, headings(target)))
            broken += [] if known else [f"{name}: {page}#{section}"]
    assert not broken


def test_no_rule_is_cited_by_a_number() -> None:
    found = [f"{name}: {match[0]}" for name, text in texts().items() for match in NUMBER.finditer(text)]
    assert not found, (
        "cite a PIP, a page of Pulsar's documentation, a configuration key, or a section of docs/reference/protocol.md"
    )
