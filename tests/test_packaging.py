"""The package, and what a newcomer's first commands rely on."""

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import broker_core
import pulsarctl

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILD = PYPROJECT["project"], PYPROJECT["tool"]["hatch"]
VERSION = r"^(__version__|version) *= *[\"']"
TARGETS = ["demo", "test", "test-clients", "lint", "bench", "soak", "soak-messaging", "powercut", "damage", "abuse"]
TARGETS += [
    "ready",
    "coverage",
    "lowest",
    "newest",
    "release",
    "wheel",
    "fuzz",
    "proto",
    "completions",
    "docs",
    "site",
    "help",
]
TARGETS += ["crowd", "authorization", "migration-kills", "replication-kills", "replication-volume", "stream-kills"]
PAGES = [
    Path("README.md"),
    Path("CONTRIBUTING.md"),
    *(page.relative_to(ROOT) for page in sorted(ROOT.glob("docs/**/*.md"))),
]
COMPILED_OF_OUR_OWN = ("*.c", "*.cpp", "*.pyx", "*.rs", "*.so")


def test_the_version_is_written_in_one_place() -> None:
    command = ["git", "ls-files", "*.py", "*.toml"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    written = [name for name in tracked.stdout.split() if re.search(VERSION, (ROOT / name).read_text(), re.MULTILINE)]
    assert written == ["broker_core/__init__.py"] == [BUILD["version"]["path"]]


def test_the_installed_version_is_the_one_that_the_packages_have() -> None:
    assert broker_core.__version__ == pulsarctl.__version__ == metadata.version("pulsarctl")


def test_the_changelog_has_a_section_for_what_comes_next_or_for_this_version() -> None:
    headings = re.findall(r"^## \[([^]]+)]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert {"Unreleased", pulsarctl.__version__} & set(headings)


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_exists_and_says_what_it_does(target: str) -> None:
    assert re.search(rf"^{target}:.*## \S", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("extra", ["spark", "java", "test", "demo"])
def test_an_extra_is_offered(extra: str) -> None:
    assert PROJECT["optional-dependencies"][extra]


def test_pages_and_messages_install_an_extra_in_one_way() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("cli/**/*.py"),
        *ROOT.glob("broker_core/**/*.py"),
    ]
    installed = {match for page in pages for match in re.findall(r"pip install '?(\S*)\[", page.read_text("utf-8"))}
    assert installed == {"pulsarctl"}


@pytest.mark.parametrize("target", TARGETS)
def test_make_help_lists_every_target(target: str) -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^  make {target} ", listed, re.MULTILINE)


@pytest.mark.parametrize(("target", "rounds"), [("soak", 200), ("soak-messaging", 50)])
def test_a_soak_runs_as_many_rounds_as_its_help_says(target: str, rounds: int) -> None:
    command = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"--rounds {rounds}" in command
    assert re.search(rf"^{target}:.*## .*ROUNDS={rounds}\b", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_to_a_file_resolves(page: Path) -> None:
    links = re.findall(r"]\(([^)#:]+)[^):]*\)", (ROOT / page).read_text())
    assert [link for link in links if not (ROOT / page.parent / link).exists()] == []


def test_the_readme_links_to_every_section_of_the_documentation() -> None:
    readme = (ROOT / "README.md").read_text()
    sections = [page.relative_to(ROOT) for page in ROOT.glob("docs/*/index.md")]
    assert [page for page in sections if f"({page.as_posix()})" not in readme] == []


@pytest.mark.parametrize("folder", ["tests/clients/node/node_modules", "tests/clients/java/target", "build"])
def test_output_of_other_tool_chains_is_ignored_by_git(folder: str) -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert f"{Path(folder).name}/" in ignored


def test_every_make_target_in_the_readme_exists() -> None:
    promised = set(re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert promised <= set(TARGETS)


@pytest.mark.parametrize("name", ["LICENSE", "CONTRIBUTING.md", "docs/explanation/architecture.md"])
def test_a_page_that_others_link_to_exists(name: str) -> None:
    assert (ROOT / name).read_text().strip()


@pytest.mark.parametrize("pattern", COMPILED_OF_OUR_OWN)
def test_no_source_needs_a_compiler(pattern: str) -> None:
    assert not [path for package in ("broker_core", "cli") for path in (ROOT / package).rglob(pattern)]


def test_the_license_matches_the_metadata() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
