"""`pulsarctl` as a separate process, for tests of signals, pipes, and descriptors."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

PULSARCTL = Path(sys.executable).parent / "pulsarctl"
SECONDS = 60.0  # a busy machine needs twenty for some tests; only a failing test takes all


class Program:
    """Runs without the developer's settings. The end of the block kills it if it still runs."""

    def __init__(self, home: Path, *words: str, environ: Mapping[str, str] | None = None, stdin: bool = False) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PULSAR")}
        self._process = subprocess.Popen(
            [str(PULSARCTL), *words],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**kept, "HOME": str(home), **(environ or {})},
            cwd=home,
        )
        self.stdout = b""  # what has been read so far
        self.stderr = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def read_lines(self, count: int, seconds: float = SECONDS) -> list[bytes]:
        """Waits until stdout has had `count` lines in total; returns them."""
        self.stdout = _read(self._process.stdout, self.stdout, lambda data: data.count(b"\n") >= count, seconds)
        return self.stdout.splitlines(keepends=True)[:count]

    def read_error_lines(self, count: int, seconds: float = SECONDS) -> list[bytes]:
        """The same for stderr."""
        self.stderr = _read(self._process.stderr, self.stderr, lambda data: data.count(b"\n") >= count, seconds)
        return self.stderr.splitlines(keepends=True)[:count]

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def close_stdout(self) -> None:
        """Closes the pipe, as `head` does."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def finish(self, seconds: float = SECONDS) -> int:
        """The exit code, once the process has ended; collects the rest of its output."""
        if self._process.stdin is not None:
            self._process.stdin.close()
            self._process.stdin = None
        if self._process.stdout is not None and self._process.stdout.closed:
            self._process.stdout = None
        out, err = self._process.communicate(timeout=seconds)
        self.stdout += out or b""
        self.stderr += err or b""
        return self._process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int
    stdout: bytes
    stderr: str


def run(home: Path, *words: str, environ: Mapping[str, str] | None = None, stdin: bytes = b"") -> Ended:
    """Runs it until it exits."""
    with Program(home, *words, environ=environ, stdin=True) as program:
        if stdin:
            program.write(stdin)
        code = program.finish()
        return Ended(code, program.stdout, program.stderr.decode())


def _read(stream: IO[bytes] | None, data: bytes, enough: Callable[[bytes], bool], seconds: float) -> bytes:
    assert stream is not None
    deadline = time.monotonic() + seconds
    while not enough(data):
        left = deadline - time.monotonic()
        assert left > 0 and select.select([stream], [], [], left)[0], f"not within {seconds} s; so far {data!r}"
        chunk = os.read(stream.fileno(), 65536)
        assert chunk, f"the stream ended; so far {data!r}"
        data += chunk
    return data
