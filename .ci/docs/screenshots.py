"""Draws pages of the site, light, dark, and as a phone shows them: `python .ci/docs/screenshots.py HTML DIRECTORY`.

HTML is what site.py built. A headless Chromium draws the pages (the package `chromium` of Debian).
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = ("index", "tutorial/first-session", "reference/configuration/broker", "explanation/durability")
LOOKS = {"light": (1280, 900, 1), "dark": (1280, 900, 0), "phone": (500, 900, 1)}  # width, height, and color scheme
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
    "--virtual-time-budget=3000",
)


def main(site: Path, target: Path) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("screenshots: cannot find chromium")
    target.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        for look in LOOKS:
            draw(chromium, site / f"{page}.html", target / f"{Path(page).name}-{look}.png", look)
    print(f"screenshots: {len(PAGES) * len(LOOKS)} in {target}")


def draw(chromium: str, page: Path, target: Path, look: str) -> None:
    width, height, scheme = LOOKS[look]
    settings = (f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={scheme}")
    with tempfile.TemporaryDirectory() as profile:
        command = (chromium, *FLAGS, *settings, f"--user-data-dir={profile}", f"--screenshot={target}", page.as_uri())
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    if not target.exists():
        raise SystemExit(f"screenshots: chromium drew no {target.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
