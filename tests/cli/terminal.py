"""A process on a pseudoterminal."""

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence


def on_a_terminal(command: Sequence[str], answer: str = "", environ: Mapping[str, str] | None = None) -> str:
    """Types `answer` and returns what the process prints; in colors only with an empty NO_COLOR."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "NO_COLOR": "1", **(environ or {})}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=settings) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        process.wait(60)
    os.close(ours)
    return shown.decode().removeprefix(answer.replace("\n", "\r\n"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""
