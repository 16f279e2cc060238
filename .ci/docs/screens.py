"""Draws the commands that show a page, 80 and 120 columns wide: `python .ci/docs/screens.py [COMMIT]`.

docs/images/screens gets what they show now, and docs/images/screens/before what they showed at COMMIT.
"""

import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from broker_core.testing import EmbeddedBroker

HERE = Path(__file__).parent
SCREENS = HERE.parents[1] / "docs" / "images" / "screens"
PICTURE = runpy.run_path(str(HERE / "picture.py"))
WIDTHS = (80, 120)
FRAME = re.compile(r".*\x1b\[H(.*)\x1b\[J.*", re.DOTALL)  # the last screen that `top` draws
# A topic whose subscription "billing" has a backlog and no consumer, and a file that asks for more.
PREPARED = (
    "pulsarctl namespaces create public/shop",
    "pulsarctl namespaces set-retention public/shop -t 7d -s 10G",
    "pulsarctl topics create public/shop/orders",
    "pulsarctl topics create-subscription public/shop/orders -s billing",
    "pulsarctl topics create-subscription public/shop/orders -s audit",
    "seq 1 2000 | pulsarctl produce public/shop/orders",
    "pulsarctl consume public/shop/orders -s audit -n 1200 > /dev/null",
    "pulsarctl export -n public/shop > state.yaml",
    "sed -i 's/10080/1440/' state.yaml",
    r"printf '  public/shop/refunds:\n    partitions: 4\n    subscriptions: {billing: }\n' >> state.yaml",
)
PAGES = {
    "describe": "pulsarctl describe topic public/shop/orders",
    "top": "pulsarctl top subscriptions --namespace public/shop -n 2",
    "explain": "pulsarctl explain public/shop/orders -s billing",
    "doctor": "pulsarctl doctor",
    "diff": "pulsarctl diff -f state.yaml",
}


def main(commit: str | None) -> None:
    if commit is None:
        draw(SCREENS)
        return
    with tempfile.TemporaryDirectory() as old:
        run("git", "worktree", "add", "--detach", "--force", old, commit)
        try:
            environment = os.environ | {"PYTHONPATH": f"{old}:{old}/cli"}
            subprocess.run([sys.executable, __file__, "--into", SCREENS / "before"], check=True, env=environment)
        finally:
            run("git", "worktree", "remove", "--force", old)


def draw(target: Path) -> None:
    target.mkdir(exist_ok=True)
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as home:
        for (name, width), shown in pages(broker, Path(home)).items():
            (target / f"{name}-{width}.svg").write_text(PICTURE["drawn"](shown, width))


def pages(broker: EmbeddedBroker, home: Path) -> dict[tuple[str, int], str]:
    """What a terminal shows for each of `PAGES`, with the ports that a broker has if it is not asked for others."""
    environment = PICTURE["settings"](broker, home)
    for command in PREPARED:
        shell = ["bash", "-ec", command]
        subprocess.run(shell, check=True, env=environment, cwd=home, capture_output=True, timeout=60)
    usual = {broker.http_url: "http://localhost:8080", broker.service_url: "pulsar://localhost:6650", str(home): "~"}
    screens = {}
    for name, command in PAGES.items():
        for width in WIDTHS:
            printed = PICTURE["on_a_terminal"](command, environment, home, width)
            shown = f"$ {command}\n{FRAME.sub(last_screen, printed)}"
            for own, replaced in usual.items():
                shown = shown.replace(own, replaced)
            screens[name, width] = shown
    return screens


def last_screen(drawn: re.Match[str]) -> str:
    return re.sub(r"\x1b\[K|\r", "", drawn[1]) + "\n"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=HERE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--into"]:
        draw(Path(sys.argv[2]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
