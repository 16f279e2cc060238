"""`pulsarctl standalone` as a separate process, for tests with kill -9."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Self

from tests.support.condition import holds_within

PULSARCTL = Path(sys.executable).parent / "pulsarctl"
READY_SECONDS = 30.0
STOP_SECONDS = 20.0


class BrokerDied(Exception):
    """The broker exited or was not ready in time; the text contains the end of its log."""


def _has_data(stream: IO[bytes], seconds: float) -> bool:
    """By `poll`: a process whose clients have opened more than 1,024 files cannot select."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


class BrokerProcess:
    """One data directory, and at most one running broker on it.

    `settings` are `key=value` pairs for -X, `program` replaces `pulsarctl standalone`. The first start chooses
    the ports, and later starts use them again, so that clients find a restarted broker. `log_path` collects the
    broker's stderr.
    """

    def __init__(self, data_dir: Path, *settings: str, program: Sequence[str] = (str(PULSARCTL), "standalone")) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.program = program
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self.service_url = ""
        self.http_url = ""
        self.service_url_tls = self.http_url_tls = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was not started"
        return self._process.pid

    def start(self, *, wait: bool = True) -> Self:
        """Starts the broker; with `wait`, returns when it is ready. Raises BrokerDied."""
        for url in (self.service_url, self.http_url):
            holds_within(partial(is_free, port_of(url)), READY_SECONDS)
        command = [*self.program, "--data-dir", str(self.data_dir), "--print-urls", "json"]
        command += ["--port", port_of(self.service_url), "--http-port", port_of(self.http_url)]
        for setting in self.settings:
            command += ["-X", setting]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self) -> None:
        """Returns when the broker has printed its addresses. Raises BrokerDied."""
        assert self._process is not None and self._process.stdout is not None
        line, deadline = b"", time.monotonic() + READY_SECONDS
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not _has_data(self._process.stdout, left):
                self.kill()  # the caller has nothing to stop yet
                raise BrokerDied(f"not ready in {READY_SECONDS:.0f} s\n{self.log_tail()}")
            chunk = os.read(self._process.stdout.fileno(), 4096)
            if not chunk:
                raise BrokerDied(f"exit code {self._process.wait()}\n{self.log_tail()}")
            line += chunk
        urls = json.loads(line)
        self.service_url, self.http_url = urls["service_url"], urls["http_url"]
        self.service_url_tls, self.http_url_tls = urls.get("service_url_tls", ""), urls.get("http_url_tls", "")

    def is_ready(self) -> bool:
        """Whether it has printed its addresses or exited, after a start without waiting."""
        assert self._process is not None and self._process.stdout is not None
        return _has_data(self._process.stdout, 0)

    def check_running(self) -> None:
        """Raises BrokerDied if the broker has exited without being asked to."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise BrokerDied(f"exit code {code}\n{self.log_tail()}")

    def kill(self) -> None:
        """Kills the process with kill -9 and waits for its end."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stops the broker cleanly; kills it after STOP_SECONDS."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def wait_ended(self) -> None:
        """Waits until the process has ended for another reason."""
        assert self._process is not None
        self._process.wait(STOP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def log_tail(self, characters: int = 4000) -> str:
        return self.log_path.read_text(errors="replace")[-characters:]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def is_free(port: str) -> bool:
    """Whether a broker can listen there: while it was down, the system may have given its port to a client."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except OSError:
            return False
        return True


def port_of(url: str) -> str:
    """The port of a service or HTTP URL, or `0` for a free port if there is no URL yet."""
    return url.rpartition(":")[2].rstrip("/") if url else "0"
