"""The worker process ends with the block that owns it."""

import asyncio
import contextlib
import os

import pytest

from broker_core.offload.worker_process import WorkerProcess


async def start(worker: WorkerProcess) -> int:
    await worker._started()
    assert worker.pid is not None
    return worker.pid


def is_running(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def test_a_worker_ends_with_its_block() -> None:
    async with WorkerProcess() as worker:
        pid = await start(worker)
    assert not is_running(pid)


async def test_a_worker_ends_with_its_block_that_is_canceled_twice() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def offload() -> None:
        async with WorkerProcess() as worker:
            started.set_result(await start(worker))
            await asyncio.Event().wait()

    task = asyncio.create_task(offload())
    pid = await started
    task.cancel()
    await asyncio.sleep(0)  # the task is now waiting for the end of the process
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)
