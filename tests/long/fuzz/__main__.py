"""`python -m tests.long.fuzz --count 1000000`: a million mutations in total, most of them of what is cheap to judge."""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.long.fuzz.authentication import Fuzzing
from tests.long.fuzz.http_requests import HttpRequests
from tests.long.fuzz.tls_records import Handshakes
from tests.support.local_issuer import LocalIssuer
from tests.unit.broker_core.wire.fuzz import fuzz

GROWTH_MAX_KB = 100_000
HANDSHAKES = 0.01  # of all mutations; a handshake takes as long as ten frames
REQUESTS = 0.01  # each has a connection to a broker
CREDENTIALS = 0.38  # the rest are frames


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Mutates frames, authentication data, TLS records, and HTTP requests, and compares the memory."
    )
    parser.add_argument("--count", type=int, default=100_000, help="mutations altogether")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same mutations")
    arguments = parser.parse_args()
    started, before, total = time.monotonic(), _memory_kb(), 0
    for name, count, accepted in _kinds(arguments.count, arguments.seed):
        total += count
        seconds = time.monotonic() - started
        _print(f"{name}: {count:,} mutations, {accepted:,} accepted, {count - accepted:,} refused ({seconds:.0f} s)")
    growth = _memory_kb() - before
    _print(f"{total:,} mutations accepted or refused, and nothing else, with {growth / 1024:.0f} MB more memory")
    assert growth < GROWTH_MAX_KB, "the memory grew"


def _kinds(count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """The name of each kind, the number of its mutations, and how many were accepted. Raises `AssertionError`."""
    handshakes, requests, credentials = (round(share * count) for share in (HANDSHAKES, REQUESTS, CREDENTIALS))
    with tempfile.TemporaryDirectory() as folder, LocalIssuer() as issuer:
        for name, accepted in Handshakes(Path(folder) / "tls").run(handshakes, seed).items():
            yield name, handshakes, accepted
        with HttpRequests() as live:
            for name, accepted in live.run(requests, seed).items():
                yield name, requests, accepted
        of_each = credentials // len(Fuzzing(Path(folder), issuer).trials)
        for name, accepted in asyncio.run(_credentials(Path(folder), issuer, of_each, seed)).items():
            yield name, of_each, accepted
    frames = count - handshakes - requests - credentials
    yield "sessions of frames", frames, fuzz(frames, seed)


async def _credentials(folder: Path, issuer: LocalIssuer, count: int, seed: int) -> dict[str, int]:
    return await Fuzzing(folder, issuer).run(count, seed)


def _memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # the result of the command


if __name__ == "__main__":
    main()
