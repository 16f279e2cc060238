"""Prepares a release: `release.py prepare X.Y.Z` sets the version and closes the section Unreleased of CHANGELOG.md.

The fragments in changelog.d/ become entries of that section. `release.py check X.Y.Z` fails unless both are done.
CONTRIBUTING.md, "Releases", says what comes before and after.
"""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
RELEASE = re.compile(r"\d+\.\d+\.\d+")
VERSION = re.compile(r'(?<=^__version__ = ")[^"]*', re.MULTILINE)
UNRELEASED = "## [Unreleased]\n"
HEADING = re.compile(r"^### (.+)\n", re.MULTILINE)
GROUP = re.compile(r"^(?![-\s]).+", re.MULTILINE)  # a line that is neither an entry nor continues one


def main(words: list[str]) -> None:
    match words:
        case ["prepare", version] if RELEASE.fullmatch(version):
            prepare(ROOT, version, datetime.date.today())
        case ["check", version]:
            check(ROOT, version)
        case _:
            raise SystemExit("usage: release.py prepare|check X.Y.Z")


def prepare(root: Path, version: str, today: datetime.date) -> None:
    """Raises `SystemExit` if the version is released already, or a fragment has a wrong name."""
    log = root / "CHANGELOG.md"
    text = log.read_text("utf-8")
    if f"## [{version}]" in text:
        raise SystemExit(f"CHANGELOG.md has a section {version} already")
    found = fragments(root)
    before, _, rest = text.partition(UNRELEASED)
    section, mark, older = rest.partition("\n## [")
    section = with_entries(section, [(kind, path.read_text("utf-8")) for path, kind in found.items()])
    log.write_text(f"{before}{UNRELEASED}\n## [{version}] - {today}\n{section}{mark}{older}", "utf-8")
    module = root / "broker_core" / "__init__.py"
    module.write_text(VERSION.sub(version, module.read_text("utf-8")), "utf-8")
    for path in found:
        path.unlink()


def check(root: Path, version: str) -> None:
    """Raises `SystemExit` unless the tree is that of release `version`."""
    if (found := VERSION.search((root / "broker_core" / "__init__.py").read_text("utf-8"))) is None or found[
        0
    ] != version:
        raise SystemExit(f"cannot release {version}: broker_core has version {found and found[0]}")
    if f"\n## [{version}] - " not in (root / "CHANGELOG.md").read_text("utf-8"):
        raise SystemExit(f"cannot release {version}: CHANGELOG.md has no section for it; run `make release`")
    if left := fragments(root):
        raise SystemExit(f"cannot release {version}: {', '.join(path.name for path in left)} in changelog.d/")


def notes(root: Path, version: str) -> str:
    """What the changelog says about a release; before the release, about the next one."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    heading = re.compile(rf"^## \[(?:{re.escape(version)}|Unreleased)].*\n", re.MULTILINE)
    sections = [text[found.end() :].partition("\n## [")[0].strip("\n") for found in heading.finditer(text)]
    return next((section for section in reversed(sections) if section), "") + "\n"


def fragments(root: Path) -> dict[Path, str]:
    """The kind of each fragment. Raises `SystemExit` for a name that is not TOPIC.KIND.md."""
    found = {}
    for path in sorted((root / "changelog.d").glob("*")):
        kind = path.name.split(".")[-2].capitalize() if path.name.count(".") == 2 else None
        if path.name == "README.md":
            continue
        if kind not in KINDS or path.suffix != ".md":
            raise SystemExit(f"changelog.d/{path.name}: name it TOPIC.KIND.md; KIND is {', '.join(KINDS).lower()}")
        found[path] = kind
    return found


def with_entries(section: str, entries: list[tuple[str, str]]) -> str:
    """The section with these entries (kind and text), each at the end of the list that its heading begins.

    A heading may have groups below its list. They stay behind the list, because an entry belongs to none of them.
    """
    intro, *parts = HEADING.split(section)
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    for kind, text in entries:
        texts[kind] = with_entry(texts.get(kind, ""), text)
    order = [*KINDS, *(kind for kind in texts if kind not in KINDS)]
    written = [f"### {kind}\n\n{texts[kind].strip()}\n" for kind in order if kind in texts]
    return intro.rstrip("\n") + "\n" * bool(intro.strip()) + "".join(f"\n{part}" for part in written)


def with_entry(part: str, text: str) -> str:
    entry = "- " + text.strip().replace("\n", "\n  ") + "\n"
    group = GROUP.search(part)
    at = group.start() if group else len(part)
    before, after = part[:at].strip("\n"), part[at:]
    return f"{before}\n{entry}\n{after}".lstrip("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
