"""The broker's side of a worker process: one process for a run of jobs, one job at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys

from broker_core.offload.errors import OffloadFailed
from broker_core.offload.job import OffloadJob, Uploaded

_LINE = 1 << 20


class WorkerProcess:
    """`async with` starts it when the first job comes and ends it with the last. Nothing outlives the block."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None

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
            with contextlib.suppress(ProcessLookupError):
                process.kill()  # between two jobs it has nothing to finish; in a job the caller does not want it
            await process.communicate()  # also closes the pipes

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self, job: OffloadJob) -> Uploaded:
        """Raises `OffloadFailed`."""
        process = self._process
        if process is None or process.returncode is not None:
            process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(job.to_document()).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (ConnectionError, ValueError) as error:
            raise OffloadFailed(f"cannot offload ledger {job.ledger_id}: {error}") from error
        if not line:
            code = await process.wait()
            raise OffloadFailed(f"cannot offload ledger {job.ledger_id}: the worker process ended with status {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise OffloadFailed(answer["error"])
        return Uploaded(**answer)

    async def _started(self) -> asyncio.subprocess.Process:
        """A start that its caller gives up goes on, so that the process is known and ended."""
        self._starting = asyncio.ensure_future(self._start())
        self._process = await asyncio.shield(self._starting)
        self._starting = None
        return self._process

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "broker_core.offload.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LINE,
            )
        except OSError as error:
            raise OffloadFailed(f"cannot start a worker process to offload: {error}") from error
