"""Builds the site of docs/ in a directory: `python .ci/docs/site.py build/site`.

The pages are copied first, with the files of the repository that they link to, because a site contains only what is in
its directory. Beside each page lies its Markdown, and llms.txt lists the pages.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NAVIGATION = runpy.run_path(str(HERE / "navigation.py"))
LINK = re.compile(r"\[([^]]*)]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
# Pages that lie elsewhere in the repository, and where the site shows them.
ELSEWHERE = {
    "broker_core/storage/FORMAT.md": "reference/storage-format.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "examples/README.md": "project/examples.md",
    "CHANGELOG.md": "project/history.md",
    "changelog.d/README.md": "project/changelog.md",
}
COPIED = ("conf/", "examples/", "docs/", "LICENSE")


def main(target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    pages = target / "pages"
    stage(pages)
    build(target, pages)
    for page in pages.rglob("*.md"):
        shutil.copy(page, target / "html" / page.relative_to(pages))
    print(f"built {target / 'html' / 'index.html'}")


def stage(pages: Path) -> None:
    """Copies every page and file that the site shows."""
    shutil.copytree(ROOT / "docs", pages)
    for name in ("iframe-worker.js", "site.css"):
        shutil.copy(HERE / name, pages)
    for source, place in {**_docs(), **ELSEWHERE}.items():
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / source).read_text("utf-8")
        move = partial(moved, source=source, place=place, pages=pages)
        (pages / place).write_text(LINK.sub(move, text), "utf-8")


def moved(link: re.Match[str], source: str, place: str, pages: Path) -> str:
    """The link of a page of the site; or only its text, if it leads to a file that the site does not show."""
    text, target, anchor = link[1], os.path.normpath(Path(source).parent / link[2]), link[3] or ""
    if target in ELSEWHERE:
        to = ELSEWHERE[target]
    elif target.startswith("docs/"):
        to = target.removeprefix("docs/")
    elif target.startswith(COPIED) and (ROOT / target).is_file():
        to = f"files/{target}"
        (pages / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / target, pages / to)
    else:
        return text if text.startswith("`") else f"`{text}`"
    return f"[{text}]({os.path.relpath(to, Path(place).parent)}{anchor})"


def build(target: Path, pages: Path) -> None:
    settings = yaml.safe_load((HERE / "site.yml").read_text("utf-8"))
    llms_txt = NAVIGATION["llms_txt"](pages, settings["site_description"] + ".")
    (pages / "llms.txt").write_text(llms_txt, "utf-8")
    settings |= {"docs_dir": "pages", "site_dir": "html", "nav": NAVIGATION["menu"](pages)}
    config = target / "mkdocs.yml"
    config.write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")
    program = [sys.executable, "-m", "zensical", "build", "--strict", "-f", config.name]
    built = subprocess.run(program, cwd=target, capture_output=True, text=True, check=False)
    if built.returncode:
        raise SystemExit(built.stdout + built.stderr)


def _docs() -> dict[str, str]:
    return {str(page.relative_to(ROOT)): str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
