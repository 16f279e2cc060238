"""The end of a process that a test started."""

import subprocess
from typing import Any


def end(process: subprocess.Popen[Any], seconds: float) -> None:
    """Asks it to stop, and kills it if it has not ended after that time."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
