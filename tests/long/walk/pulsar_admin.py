"""The real pulsar-admin: one JVM that runs any number of command lines, one after the other."""

from __future__ import annotations

import base64
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.support.runner import Outcome

DRIVER = Path(__file__).with_name("PulsarAdminDriver.java")
REQUEST_SECONDS = 20  # Apache Pulsar leaves a few requests without an answer
LINE_SECONDS = 120
STOP_SECONDS = 10


class PulsarAdmin:
    """`admin(url, "tenants", "list")`; `jars` is the directory with the jars of the tools."""

    def __init__(self, java: str, jars: Path, log: Path) -> None:
        self._command = [java, "-Xmx512m", "-cp", f"{jars}/*", str(DRIVER)]
        self._log = log
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as errors:
            return subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=self._log.parent
            )

    def __enter__(self) -> PulsarAdmin:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __call__(self, url: str, *words: str) -> Outcome:
        """Raises `TimeoutError` if the command does not end. What a command prints that ends the JVM is lost."""
        assert self._process.stdin is not None
        line = ("--admin-url", url, "--request-timeout", str(REQUEST_SECONDS), *words)
        self._process.stdin.write(" ".join(_encoded(word) for word in line).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._answer(words)
        if not answer:
            code = self._process.wait(STOP_SECONDS)
            self._process = self._start()
            return Outcome(code, "", "")
        code_text, stdout, stderr = answer.split()
        return Outcome(int(code_text), _decoded(stdout), _decoded(stderr))

    def _answer(self, words: Sequence[str]) -> str:
        """The line that the JVM answers, or nothing if it ends."""
        assert self._process.stdout is not None
        answer, deadline = b"", time.monotonic() + LINE_SECONDS
        while not answer.endswith(b"\n"):
            if not select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"pulsar-admin does not answer: {' '.join(words)}")
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                return ""
            answer += part
        return answer.decode()


def _encoded(word: str) -> str:
    return base64.b64encode(word.encode()).decode() or "="


def _decoded(text: str) -> str:
    return "" if text == "=" else base64.b64decode(text).decode()
