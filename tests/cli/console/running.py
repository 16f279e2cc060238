"""`pulsarctl console` as a process."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PULSARCTL = Path(sys.executable).parent / "pulsarctl"
READY_SECONDS = 60


@contextmanager
def console(home: Path, *options: str) -> Iterator[str]:
    """The address that the command prints."""
    command = [str(PULSARCTL), *options, "console", "--port", "0", "--print-urls", "json", "--console-actions"]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], READY_SECONDS)[0], "no address in time"
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(READY_SECONDS) == 0
