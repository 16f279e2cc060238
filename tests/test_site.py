"""The site of the documentation: it builds without a warning, contains every page, and has no broken link."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILDER = ROOT / ".ci" / "docs" / "site.py"
NAVIGATION = runpy.run_path(str(ROOT / ".ci" / "docs" / "navigation.py"))

SEARCH = Path(__file__).parent / "site_search.js"
QUESTIONS = {
    "install": "how-to/install.html",
    "pytest fixture": "tutorial/test-fixture.html",
    "connect to an existing cluster": "how-to/connect.html",
    "stuck subscription": "how-to/stuck-subscription.html",
    "dead letter": "how-to/dead-letters.html",
    "delayed messages": "how-to/delayed-messages.html",
    "Kubernetes": "how-to/kubernetes.html",
    "enable TLS": "how-to/tls.html",
    "migrate from Apache Pulsar": "how-to/migration.html",
    "query a topic with SQL": "how-to/sql.html",
}


class Links(HTMLParser):
    """The links of a page and what others can link to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name, value in attrs if name in ("id", "name") and value}
        self.links += [value for name in ("href", "src") if (value := values.get(name))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="the generator of the site is not installed: pip install '.[docs]'")
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run([sys.executable, BUILDER, target], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return target / "html"


def pages_below(index: str) -> Iterator[str]:
    """Pages of docs/ in the menu; it may also name pages that lie elsewhere."""
    for entry in NAVIGATION["entries"](DOCS, index):
        if not entry.path.startswith(".."):
            yield entry.path
            yield from pages_below(entry.path) if entry.path.endswith("index.md") else ()


def test_every_page_is_in_the_menu_once() -> None:
    sections = [f"{name}/index.md" for name in NAVIGATION["SECTIONS"]]
    listed = ["index.md", *sections, *(path for index in sections for path in pages_below(index))]
    assert [path for path in listed if "../" not in path and not (DOCS / path).exists()] == []
    inside = sorted(path for path in listed if (DOCS / path).exists() and ".." not in path)
    assert inside == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    broken = []
    for page, parsed in pages.items():
        for link in parsed.links:
            url = urlsplit(link)
            if url.scheme or url.netloc or page.name == "404.html":
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            known = target.exists() and (not url.fragment or url.fragment in pages[target].anchors)
            broken += [] if known else [f"{page.relative_to(site)}: {link}"]
    assert len(pages) > 30
    assert broken == []


def test_every_command_of_a_session_is_in_a_code_block(site: Path) -> None:
    for page in site.rglob("*.html"):
        prose = re.sub(r"<(pre|code|script)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert "$ pulsarctl" not in prose, page


def test_a_page_loads_nothing_from_other_hosts(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert 'src="http' not in page
    assert '<link rel="stylesheet" href="http' not in page


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the program of the search")
def test_the_search_answers_ten_questions_of_new_users_with_its_first_page(site: Path) -> None:
    questions = json.dumps(list(QUESTIONS))
    asked = subprocess.run(["node", SEARCH, site], input=questions, capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr
    first = {question: places[:1] for question, places in zip(QUESTIONS, json.loads(asked.stdout), strict=True)}
    assert first == {question: [page] for question, page in QUESTIONS.items()}


def test_the_search_works_without_a_server(site: Path) -> None:
    assert "ledger" in (site / "search.js").read_text("utf-8")


def test_the_markdown_of_each_page_lies_beside_it(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert [page for page in pages if not page.with_suffix(".md").exists()] == []
    assert [line for line in (site / "llms.txt").read_text("utf-8").splitlines() if "](how-to/security.md): " in line]
