"""The worker process: takes jobs as lines of JSON on its standard input, and answers each with a line.

A process of its own keeps compression and Python's work for each entry off the broker's interpreter. It has a lower
priority, and it ends at once when its standard input closes: a broker that was killed leaves no uploader behind, which
would create objects after the next start has looked for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from typing import Any

from broker_core.offload import job
from broker_core.offload.errors import OffloadFailed, detail_of, masked
from broker_core.offload.orders import OffloadJob, Removal
from broker_core.offload.stores import open_store
from broker_core.offload.tables import Tables

NICE = 5


def main(tables: Tables | None = None) -> None:
    """`tables` writes those of jobs that want one."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    lines: queue.Queue[bytes] = queue.Queue(maxsize=1)
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    while True:
        answer = json.dumps(_do(json.loads(lines.get()), tables))
        sys.stdout.write(answer + "\n")  # the answer is the product of this process
        sys.stdout.flush()


def _listen(lines: queue.Queue[bytes]) -> None:
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)  # not sys.exit: an open upload would keep the process alive


def _do(document: dict[str, Any], tables: Tables | None) -> dict[str, Any]:
    try:
        if (removal := document.get("removal")) is not None:
            return _remove_rows(Removal.from_document(removal), tables)
        done = job.run(OffloadJob.from_document(document), tables)
    except OffloadFailed as error:
        return {"error": str(error), "detail": error.detail}
    return {name: getattr(done, name) for name in done.__slots__}


def _remove_rows(removal: Removal, tables: Tables | None) -> dict[str, Any]:
    assert tables is not None, "the broker starts the program that writes tables"
    store = open_store(removal.driver, removal.settings, removal.limits)
    try:
        tables.remove(removal, store)
    except (OSError, ValueError) as error:
        reason = f"cannot remove ledger {removal.ledger_id} from {removal.table['name']}: "
        raise OffloadFailed(f"{reason}{masked(error)}", f"{reason}{detail_of(error)}") from error
    return {}


if __name__ == "__main__":
    main()
