"""The broker's side of a worker process: one process for a run of jobs, one job at a time.

`subprocess` in a thread instead of asyncio's: that one forks, which copies the page tables of a large broker and stops
the loop for tens of milliseconds; `subprocess` uses vfork(2).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from typing import Any

from broker_core.offload.errors import OffloadFailed
from broker_core.offload.job import Uploaded
from broker_core.offload.orders import OffloadJob, Removal

_LINE = 1 << 20
PROGRAM = "broker_core.offload.worker"


class WorkerProcess:
    """`async with` starts it when the first job comes and ends it with the last. Nothing outlives the block."""

    def __init__(self, program: str = PROGRAM) -> None:
        """`program`: the module that runs the jobs."""
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._starting: asyncio.Future[subprocess.Popen[bytes]] | None = None
        self._asking: asyncio.Future[bytes] | None = None

    async def __aenter__(self) -> WorkerProcess:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Waits for the end of the process, which comes at once, even if the caller is canceled again meanwhile."""
        ending = asyncio.ensure_future(self._end())
        again: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as canceled:
                again = canceled
        if again is not None:
            raise again

    async def _end(self) -> None:
        if self._starting is not None:  # the caller was canceled during the start
            with contextlib.suppress(OffloadFailed):
                self._process = await self._starting
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # an idle worker has nothing to finish; the caller gave up a running job
            if self._asking is not None:
                with contextlib.suppress(OSError):
                    await self._asking
            await asyncio.to_thread(_close, process)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self, job: OffloadJob) -> Uploaded:
        """Raises `OffloadFailed`."""
        return Uploaded(**await self._answer(job.ledger_id, job.to_document()))

    async def remove_rows(self, removal: Removal) -> None:
        """Raises `OffloadFailed`."""
        await self._answer(removal.ledger_id, {"removal": removal.to_document()})

    async def _answer(self, ledger_id: int, document: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.poll() is not None:
            process = await self._started()
        request = json.dumps(document).encode() + b"\n"
        self._asking = asyncio.ensure_future(asyncio.to_thread(_ask, process, request))
        try:
            line = await asyncio.shield(self._asking)  # a thread cannot be canceled: the end of the process ends it
        except OSError as error:
            raise OffloadFailed(f"cannot offload ledger {ledger_id}: {error}") from error
        if not line.endswith(b"\n"):
            process.kill()
            code = await asyncio.to_thread(process.wait)
            raise OffloadFailed(f"cannot offload ledger {ledger_id}: the worker process ended with status {code}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise OffloadFailed(answer["error"], answer["detail"])
        return answer

    async def _started(self) -> subprocess.Popen[bytes]:
        """A start that its caller gives up goes on, so that the process is known and ended."""
        self._starting = asyncio.ensure_future(asyncio.to_thread(_start, self._program))
        self._process = await asyncio.shield(self._starting)
        self._starting = None
        return self._process


def _start(program: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen((sys.executable, "-m", program), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise OffloadFailed(f"cannot start a worker process to offload: {error}") from error


def _ask(process: subprocess.Popen[bytes], request: bytes) -> bytes:
    """The answer, a line; incomplete if the process has ended. Raises OSError."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request)
    process.stdin.flush()
    return process.stdout.readline(_LINE)


def _close(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):  # a request that it did not take
        process.communicate()
