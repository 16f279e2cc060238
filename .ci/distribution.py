"""Builds what a release uploads, from a commit and nothing else: `distribution.py REPOSITORY DIRECTORY`.

REPOSITORY is the address of the repository in the web. The package index shows README.md without the files beside it,
so links of the uploaded one lead to the files of the tag there. DIRECTORY gets the source distribution and the wheel.
Both are checked: their metadata, how README.md renders, and where each of its links leads.
"""

import io
import re
import runpy
import subprocess
import sys
import tarfile
import tempfile
from email import message_from_bytes
from html.parser import HTMLParser
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
VERSION = runpy.run_path(str(ROOT / ".ci" / "release.py"))["VERSION"]
LINK = re.compile(r"(!?)\[([^]]*)]\((?!https?:|#)([^)#\s]+)")
URLS = "[project.urls]\n"


class Links(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for name, value in attrs if name in ("href", "src") and value]


def main(repository: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="pulsarctl-distribution-") as scratch:
        tree = Path(scratch)
        check_out(tree)
        tag = "v" + VERSION.search((tree / "broker_core" / "__init__.py").read_text("utf-8"))[0]
        address(tree, repository, tag)
        run(sys.executable, "-m", "build", "--outdir", str(target), str(tree))
        [wheel] = target.glob("*.whl")
        broken = broken_links(rendered(wheel), f"{repository}/", tag, tree)
    if broken:
        raise SystemExit(f"distribution: README.md has links that lead nowhere: {', '.join(broken)}")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, target.glob("pulsarctl-*")))
    print(f"distribution: {', '.join(sorted(path.name for path in target.glob('pulsarctl-*')))}")


def check_out(tree: Path) -> None:
    command = ("git", "archive", "HEAD")
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tree, filter="data")


def address(tree: Path, repository: str, tag: str) -> None:
    """Writes the address of the repository into the links of README.md and into the metadata."""
    readme, project = tree / "README.md", tree / "pyproject.toml"
    readme.write_text(LINK.sub(lambda link: absolute(link, repository, tag), readme.read_text("utf-8")), "utf-8")
    project.write_text(project.read_text("utf-8").replace(URLS, URLS + urls(repository, tag), 1), "utf-8")


def absolute(link: re.Match[str], repository: str, tag: str) -> str:
    image, text, path = link.groups()
    return f"{image}[{text}]({repository}/{'raw' if image else 'blob'}/{tag}/{path}"


def urls(repository: str, tag: str) -> str:
    pages = {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/index.md",
        "Source": repository,
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    return "".join(f'{name} = "{url}"\n' for name, url in pages.items())


def rendered(wheel: Path) -> str:
    """README.md as the package index shows it."""
    from readme_renderer import markdown

    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = message_from_bytes(archive.read(name)).get_payload(decode=True).decode("utf-8")
    if not (page := markdown.render(text)):
        raise SystemExit("distribution: README.md does not render")
    return str(page)


def broken_links(page: str, repository: str, tag: str, tree: Path) -> list[str]:
    """Links that are not absolute, and links into the repository that name no file of the tree."""
    broken = []
    for target in Links(page).targets:
        if target.startswith(repository):
            path = target.removeprefix(repository).partition(f"/{tag}/")[2].partition("#")[0]
            broken += [] if path and (tree / path).exists() else [target]
        elif not target.startswith(("https://", "#")):
            broken.append(target)
    return broken


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"distribution: cannot run {' '.join(command)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), Path(sys.argv[2]).resolve())
