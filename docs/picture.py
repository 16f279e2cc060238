"""Writes docs/terminal.svg: a session with a broker of its own, as rich draws it. Run it when the output changes."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from broker_core.testing import EmbeddedBroker

TARGET = Path(__file__).parent / "terminal.svg"
PULSARCTL = Path(sys.executable).parent / "pulsarctl"
WIDTH = 88
SESSION = (
    "pulsarctl namespaces create public/shop",
    "pulsarctl topics create-partitioned public/shop/orders -p 3",
    "pulsarctl topics create-subscription public/shop/orders -s billing",
    r"printf 'ada:12.50\nbob:3.20\nada:7.99\n' | pulsarctl produce public/shop/orders -K :",
    r"pulsarctl consume public/shop/orders -s billing -n 2 -F '%k paid %v\n'",
    "pulsarctl topics list public/shop -o table",
    "pulsarctl topics set-retention public/shop/orders -t 1h -s 1G",
    "pulsarctl topics get-retention public/shop/orders",
)


def main() -> None:
    with (
        EmbeddedBroker() as broker,
        tempfile.TemporaryDirectory() as home,
        open(os.devnull, "w") as nowhere,
    ):
        console = Console(record=True, width=WIDTH, file=nowhere)
        environment = os.environ | {
            "PATH": f"{PULSARCTL.parent}{os.pathsep}{os.environ['PATH']}",
            "PULSARCONFIG": str(Path(home) / "config"),
            "PULSARCTL_ADMIN_URL": broker.http_url,
            "PULSARCTL_SERVICE_URL": broker.service_url,
        }
        for command in SESSION:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            shell = ["bash", "-c", f"({command}) 2>&1"]
            console.print(
                subprocess.run(shell, env=environment, capture_output=True, text=True, check=True).stdout, end=""
            )
        TARGET.write_text(without_fonts(console.export_svg(title="pulsarctl")))


def without_fonts(svg: str) -> str:
    """A picture that fetches nothing: the reader's own monospace font will do."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main()
