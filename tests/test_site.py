"""The site of the documentation: it builds without a warning, contains every page, and has no broken link.

A browser walks the site, too, and types the questions into its search.
"""

import asyncio
import json
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.chromium import CHROMIUM, Chromium

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILDER = ROOT / ".ci" / "docs" / "site.py"
NAVIGATION = runpy.run_path(str(ROOT / ".ci" / "docs" / "navigation.py"))

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


# What the open page links to, loads, and has as anchors.
LINKED = "[...document.querySelectorAll('[href], [src]')].map(e => e.href || e.src)"
ANCHORS = "[...document.querySelectorAll('[id], [name]')].flatMap(e => [e.id, e.name])"
# The search draws itself in a shadow tree.
SEARCH_BOX = "[...document.querySelectorAll('div')].find(e => e.shadowRoot).shadowRoot"
FIRST_HIT = f"{SEARCH_BOX}.querySelector('[aria-posinset=\"1\"]')"
CLEAR = f"{SEARCH_BOX}.querySelector('input').select(), document.execCommand('delete')"


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


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site, in a server of its directory alone."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on PATH")
def test_a_browser_that_follows_every_link_meets_no_error(served: str, site: Path, tmp_path: Path) -> None:
    anchors, links, messages = asyncio.run(walk(served, tmp_path))
    assert anchors.keys() == {str(page.relative_to(site)) for page in site.rglob("*.html")} - {"404.html"}
    assert [link for link in links if not leads_somewhere(link, anchors)] == []
    assert messages == []


async def walk(served: str, profile: Path) -> tuple[dict[str, set[str]], set[str], list[str]]:
    """The anchors of each page that links lead to, the links, and what the browser reports, such as missing files."""
    waiting, anchors, links = ["index.html"], dict[str, set[str]](), set[str]()
    async with Chromium(profile) as browser:
        while waiting:
            page = waiting.pop()
            await browser.open(served + page)
            anchors[page] = set(await browser.run(ANCHORS))
            links |= {link.removeprefix(served) for link in await browser.run(LINKED) if link.startswith(served)}
            waiting = [path for path in {link.partition("#")[0] for link in links} if path.endswith(".html")]
            waiting = [path for path in waiting if path not in anchors]
        files = json.dumps([link for link in links if ".html" not in link])
        await browser.run(f"Promise.all({files}.map(file => fetch('/' + file)))")
    return anchors, links, browser.messages


def leads_somewhere(link: str, anchors: dict[str, set[str]]) -> bool:
    page, _, anchor = link.partition("#")
    return not anchor or page not in anchors or unquote(anchor) in anchors[page]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on PATH")
async def test_the_search_box_answers_ten_questions_of_new_users_with_its_first_hit(
    served: str, tmp_path: Path
) -> None:
    async with Chromium(tmp_path) as browser:
        await browser.open(f"{served}index.html")
        await browser.run("document.querySelector('.md-search__button').click()")
        await browser.until(f"{SEARCH_BOX}.querySelector('input')")
        hits = {question: await first_hit(browser, question) for question in QUESTIONS}
    assert {question: urlsplit(hit).path[1:] for question, hit in hits.items()} == QUESTIONS


async def first_hit(browser: Chromium, question: str) -> str:
    """The page that the search shows first. The hits of the last question leave first: they may stay for a moment."""
    await browser.run(CLEAR)
    await browser.until(f"!{FIRST_HIT}")
    await browser.send("Input.insertText", text=question)
    await browser.until(FIRST_HIT)
    return str(await browser.run(f"{FIRST_HIT}.href"))


def test_the_search_works_without_a_server(site: Path) -> None:
    assert "ledger" in (site / "search.js").read_text("utf-8")


def test_the_markdown_of_each_page_lies_beside_it(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert [page for page in pages if not page.with_suffix(".md").exists()] == []
    assert [line for line in (site / "llms.txt").read_text("utf-8").splitlines() if "](how-to/security.md): " in line]
