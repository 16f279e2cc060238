"""`python -m tests.fuzz --count 1000000`: every original is mutated that many times, and the memory is compared."""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

from tests.broker_core.security.local_issuer import LocalIssuer
from tests.fuzz.authentication import Fuzzing
from tests.fuzz.http_requests import HttpRequests
from tests.fuzz.tls_records import Handshakes

GROWTH_MAX_KB = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutates authentication data, TLS records, and HTTP requests.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same mutations")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, LocalIssuer() as issuer:
        started, before = time.monotonic(), _memory_kb()
        found = asyncio.run(_authentication(Path(folder), issuer, arguments.count, arguments.seed))
        found |= Handshakes(Path(folder) / "tls").run(arguments.count, arguments.seed)
        with HttpRequests() as requests:
            found |= requests.run(arguments.count, arguments.seed)
        seconds, growth = time.monotonic() - started, _memory_kb() - before
    lines = [f"{name}: {arguments.count} mutations, {accepted} accepted" for name, accepted in found.items()]
    lines.append(f"the others refused, and nothing else, in {seconds:.0f} s with {growth / 1024:.0f} MB more memory")
    print("\n".join(lines))  # noqa: T201  # the result of the command
    assert growth < GROWTH_MAX_KB, "the memory grew"


async def _authentication(folder: Path, issuer: LocalIssuer, count: int, seed: int) -> dict[str, int]:
    return await Fuzzing(folder, issuer).run(count, seed)


def _memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
