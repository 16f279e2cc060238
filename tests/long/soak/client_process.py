"""A client in a separate process that reads commands from stdin and answers with lines of JSON."""

import json
import queue
import subprocess
import sys
import threading
from typing import Any

ANSWER_SECONDS = 60.0


class ClientFailed(Exception):
    """The client exited or hangs; `str(error)` names it."""


class ClientProcess:
    def __init__(self, module: str, *arguments: str) -> None:
        self._name = f"{module} {' '.join(arguments)}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None: it exited
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def ask(self, command: str) -> Any:
        """Sends a command and returns the answer. Raises ClientFailed with the client's name."""
        self.tell(command)
        try:
            answer = self._answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise ClientFailed(f"{self._name} gave no answer to '{command}' in {ANSWER_SECONDS:.0f} s") from None
        if answer is None:
            raise ClientFailed(f"{self._name} ended")
        return json.loads(answer)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
