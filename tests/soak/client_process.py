"""A client in a process of its own, told what to do by lines on stdin and answering with lines of JSON."""

import json
import queue
import subprocess
import sys
import threading
from typing import Any

ANSWER_SECONDS = 60.0


class ClientProcess:
    def __init__(self, module: str, *arguments: str) -> None:
        self._name = f"{module} {' '.join(arguments)}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def ask(self, command: str) -> Any:
        """Tells, and returns the answer. Raises TimeoutError with the client's name."""
        self.tell(command)
        try:
            return json.loads(self._answers.get(timeout=ANSWER_SECONDS))
        except queue.Empty:
            raise TimeoutError(f"no answer to '{command}' within {ANSWER_SECONDS:.0f} s: {self._name}") from None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
