"""Runs `pulsarctl` as a user would, prints each command, and checks its result."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PULSARCTL = str(Path(sys.executable).parent / "pulsarctl")
COMMAND_SECONDS = 120
READY_SECONDS = 20
POLL_SECONDS = 0.1


class DemoFailed(Exception):
    """A claim does not hold, or a command failed."""


class Shell:
    """A shell whose environment sets the addresses and ignores the user's contexts."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._environment = os.environ | {"PULSARCONFIG": str(scratch / "config"), "NO_COLOR": "1"}
        self._environment.pop("PULSAR_CLIENT_CONF", None)

    def run(self, *arguments: str, show: bool = True) -> str:
        """Returns the stdout of `pulsarctl ARGUMENTS`. Raises DemoFailed with its stderr."""
        if show:
            print(f"  $ pulsarctl {shlex.join(arguments)}", flush=True)
        done = subprocess.run(
            [PULSARCTL, *arguments], env=self._environment, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        if done.returncode:
            raise DemoFailed(f"pulsarctl {shlex.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def json(self, *arguments: str, show: bool = True) -> Any:
        return json.loads(self.run(*arguments, "-o", "json", show=show))

    def lines(self, *arguments: str) -> list[str]:
        return self.run(*arguments).splitlines()

    def start_broker(self, *arguments: str) -> "Standalone":
        ready = self._scratch / "ready.json"
        command = ["standalone", "--ready-file", str(ready), *arguments]
        print(f"  $ pulsarctl {shlex.join(command)} &", flush=True)
        with (self._scratch / "standalone.log").open("ab") as log:
            process = subprocess.Popen(
                [PULSARCTL, *command], env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_for("the broker", lambda: ready.exists() or process.poll() is not None, READY_SECONDS)
        if process.poll() is not None:
            raise DemoFailed(f"the broker exited: {(self._scratch / 'standalone.log').read_text()[-2000:]}")
        urls = json.loads(ready.read_text())
        self._environment["PULSARCTL_SERVICE_URL"] = urls["service_url"]
        self._environment["PULSARCTL_ADMIN_URL"] = urls["http_url"]
        return Standalone(process, urls, ready)


class Standalone:
    def __init__(self, process: subprocess.Popen[bytes], urls: dict[str, Any], ready: Path) -> None:
        self._process = process
        self._ready = ready
        self.urls = urls

    @property
    def addresses(self) -> tuple[str, str]:
        return str(self.urls["service_url"]), str(self.urls["http_url"])

    def port(self, which: str) -> str:
        return str(self.urls[which]).rpartition(":")[2]

    def kill(self) -> None:
        print(f"  $ kill -9 {self._process.pid}", flush=True)
        self._process.kill()
        self._process.wait()
        self._ready.unlink(missing_ok=True)  # a killed broker cannot remove it

    def stop(self) -> int:
        """Stops the broker if it runs; returns its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(READY_SECONDS)


def wait_for(what: str, condition: Callable[[], Any], seconds: float) -> Any:
    """Returns the first true value of the condition. Raises DemoFailed after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise DemoFailed(f"timed out after {seconds:.0f} s waiting for {what}")
        time.sleep(POLL_SECONDS)
    return found


def check(claim: str, holds: bool, detail: object = "") -> None:
    """Prints the claim if it holds, else raises DemoFailed."""
    if not holds:
        raise DemoFailed(f"not true: {claim} {detail}".rstrip())
    print(f"  \u2713 {claim}", flush=True)
