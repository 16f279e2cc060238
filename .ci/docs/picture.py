"""Writes pictures to docs/images: a session on a terminal, and one picture for each command that shows a page.

Run it when the output changes: `make pictures`. The commands talk to a broker of its own. Text and colors
are what they write to their terminal, and rich only draws them.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from broker_core.testing import EmbeddedBroker

TARGET = Path(__file__).parents[2] / "docs" / "images" / "terminal.svg"
SCREENS = TARGET.parent / "screens"
PULSARCTL = Path(sys.executable).parent / "pulsarctl"
WIDTH = 100  # the widest of these tables and commands fits
OVERWRITTEN = re.compile(r"[^\n]*\r\x1b\[K")  # a line of progress
SESSION = (
    "pulsarctl namespaces create public/shop",
    "pulsarctl topics create-partitioned public/shop/orders -p 3",
    "pulsarctl topics create-subscription public/shop/orders -s billing",
    r"printf 'ada:12.50\nbob:3.20\nada:7.99\n' | pulsarctl produce public/shop/orders -K :",
    r"pulsarctl consume public/shop/orders -s billing -n 3 -F '%k paid %v\n'",
    "pulsarctl topics list public/shop",
    "pulsarctl topics set-retention public/shop/orders -t 1h -s 1G",
    "pulsarctl topics stat public/shop/orders",
)

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
    "top": "pulsarctl top subscriptions --once --namespace public/shop",
    "explain": "pulsarctl explain public/shop/orders -s billing",
    "doctor": "pulsarctl doctor",
    "diff": "pulsarctl diff -f state.yaml",
}


def main() -> None:
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as home:
        TARGET.write_text(drawn(session(broker, Path(home))))
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as home:
        for name, shown in pages(broker, Path(home)).items():
            (SCREENS / f"{name}.svg").write_text(drawn(shown))


def session(broker: EmbeddedBroker, home: Path) -> str:
    """Each command and what its terminal shows, control sequences included."""
    environment = settings(broker, home)
    return "".join(f"$ {command}\n{on_a_terminal(command, environment)}" for command in SESSION)


def pages(broker: EmbeddedBroker, home: Path) -> dict[str, str]:
    """What the terminal shows for each of `PAGES`, with the ports that a broker has if it is not asked for others."""
    environment = settings(broker, home)
    for command in PREPARED:
        shell = ["bash", "-ec", command]
        subprocess.run(shell, check=True, env=environment, cwd=home, capture_output=True, timeout=60)
    usual = {broker.http_url: "http://localhost:8080", broker.service_url: "pulsar://localhost:6650", str(home): "~"}
    found = {}
    for name, command in PAGES.items():
        shown = f"$ {command}\n{on_a_terminal(command, environment, home)}"
        for own, replaced in usual.items():
            shown = shown.replace(own, replaced)
        found[name] = shown
    return found


def settings(broker: EmbeddedBroker, home: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PULSAR")} | {
        "PATH": f"{PULSARCTL.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "xterm",
        "NO_COLOR": "",
        "PULSARCTL_ADMIN_URL": broker.http_url,
        "PULSARCTL_SERVICE_URL": broker.service_url,
    }


def on_a_terminal(command: str, environment: Mapping[str, str], directory: Path | None = None) -> str:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, WIDTH))
    shell = ["bash", "-c", command]
    with subprocess.Popen(shell, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=directory) as run:
        os.close(theirs)
        shown = b""
        while chunk := read(ours):
            shown += chunk
        run.wait(60)
    os.close(ours)
    return OVERWRITTEN.sub("", shown.decode().replace("\r\n", "\n"))


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


def drawn(shown: str) -> str:
    """A picture that fetches nothing: the reader's own monospace font will do."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, color_system="standard", no_color=False)
        console.print(Text.from_ansi(shown))
    return re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="pulsarctl"), flags=re.DOTALL)


if __name__ == "__main__":
    main()
