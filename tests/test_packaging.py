"""The package, and what a newcomer's first commands rely on."""

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import broker_core
import pulsarctl

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILD = PYPROJECT["project"], PYPROJECT["tool"]["hatch"]
VERSION = r"^(__version__|version) *= *[\"']"


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


def test_pages_and_messages_install_an_extra_in_one_way() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("cli/**/*.py"),
        *ROOT.glob("broker_core/**/*.py"),
    ]
    installed = {match for page in pages for match in re.findall(r"pip install '?(\S*)\[", page.read_text("utf-8"))}
    assert installed == {"pulsarctl"}


def test_the_readme_links_to_every_section_of_the_documentation() -> None:
    readme = (ROOT / "README.md").read_text()
    sections = [page.relative_to(ROOT) for page in ROOT.glob("docs/*/index.md")]
    assert [page for page in sections if f"({page.as_posix()})" not in readme] == []


def test_no_source_needs_a_compiler() -> None:
    sources = [path for package in ("broker_core", "cli") for path in (ROOT / package).rglob("*")]
    assert [path for path in sources if path.suffix in (".c", ".cpp", ".pyx", ".rs", ".so")] == []


def test_the_license_matches_the_metadata() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
