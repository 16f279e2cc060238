"""Draws what commands show on a terminal, and writes the session in docs/images/terminal.svg.

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


def main() -> None:
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as home:
        TARGET.write_text(drawn(session(broker, Path(home))))


def session(broker: EmbeddedBroker, home: Path) -> str:
    """Each command and what its terminal shows, control sequences included."""
    environment = settings(broker, home)
    return "".join(f"$ {command}\n{on_a_terminal(command, environment)}" for command in SESSION)


def settings(broker: EmbeddedBroker, home: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PULSAR")} | {
        "PATH": f"{PULSARCTL.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "xterm",
        "NO_COLOR": "",
        "PULSARCTL_ADMIN_URL": broker.http_url,
        "PULSARCTL_SERVICE_URL": broker.service_url,
    }


def on_a_terminal(
    command: str, environment: Mapping[str, str], directory: Path | None = None, width: int = WIDTH
) -> str:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, width))
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


def drawn(shown: str, width: int = WIDTH) -> str:
    """A picture that fetches nothing: the reader's own monospace font will do."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=width, file=nowhere, color_system="standard", no_color=False)
        console.print(Text.from_ansi(shown))
    return re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="pulsarctl"), flags=re.DOTALL)


if __name__ == "__main__":
    main()
