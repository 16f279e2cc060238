"""The cost of the wire codec for each message: `python -m tests.long.bench.codec`.

Nanoseconds, best of many rounds, so that other load on the machine does not count. The targets of the hot path are
900 to read a SEND and verify its checksum, 150 for a receipt, and 250 for a MESSAGE.
"""

import time
from collections.abc import Callable

from broker_core.wire.encode import MessageEncoder, ReceiptEncoder
from broker_core.wire.frame import FrameDecoder
from broker_core.wire.send import SendRun
from tests.support.send_frames import entry, send, send_frame

ROUNDS = 500
FRAME_SIZE_MAX = 5 * 1024 * 1024 + 10 * 1024
FIRST = 20_000
LEDGER_ID, FIRST_ENTRY_ID = 5, 50_000


def best_ns(call: Callable[[], object], messages: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - started)
    return best / messages


def feed_ns(frames: list[bytes]) -> float:
    """Repeats the same chunk: the layout is learned once for 128 messages, as in practice."""
    decoder = FrameDecoder(FRAME_SIZE_MAX)
    chunk = b"".join(frames)
    return best_ns(lambda: decoder.feed(chunk), len(frames))


def one_producer(count: int, size: int) -> list[bytes]:
    return [send(0, FIRST + number, b"x" * size) for number in range(count)]


def taking_turns(producers: int, each: int) -> list[bytes]:
    """`each` messages of each producer, one producer after the other."""
    return [send(producer, FIRST + number, b"x" * 100) for producer in range(producers) for number in range(each)]


def batches(count: int) -> list[bytes]:
    body = entry(b"x" * 1024, num_messages_in_batch=10)
    return [send_frame(0, FIRST + number * 10, body, num_messages=10) for number in range(count)]


def run_of(count: int) -> SendRun:
    (run,) = FrameDecoder(FRAME_SIZE_MAX).feed(b"".join(one_producer(count, 100)))
    assert isinstance(run, SendRun)
    return run


def receipts_ns(count: int) -> float:
    run, encoder = run_of(count), ReceiptEncoder(-1)
    return best_ns(lambda: encoder.receipts(run, LEDGER_ID, FIRST_ENTRY_ID), count)


def messages_ns(count: int, redelivered: bool = False) -> float:
    run, encoder = run_of(count), MessageEncoder(3, -1)
    counts = [1] * count if redelivered else None
    return best_ns(lambda: encoder.encode(LEDGER_ID, FIRST_ENTRY_ID, run.data, run.starts, run.ends, counts), count)


def measure() -> list[tuple[str, float]]:
    """Rows of (name, ns per message, or per batch for batches)."""
    return [
        ("SEND in, 100 B, 400 a chunk", feed_ns(one_producer(400, 100))),
        ("SEND in, 100 B, 10 a chunk", feed_ns(one_producer(10, 100))),
        ("SEND in, 100 B, 1 a chunk", feed_ns(one_producer(1, 100))),
        ("SEND in, 1 KB, 60 a chunk", feed_ns(one_producer(60, 1024))),
        ("SEND in, 100 producers, 4 in a row", feed_ns(taking_turns(100, 4))),
        ("SEND in, 100 producers, 1 in a row", feed_ns(taking_turns(100, 1))),
        ("SEND in, batch of 10, 1 KB, 60 a chunk", feed_ns(batches(60))),
        ("receipt out, run of 400", receipts_ns(400)),
        ("receipt out, run of 10", receipts_ns(10)),
        ("receipt out, run of 1", receipts_ns(1)),
        ("MESSAGE out, 100 B, 400 at once", messages_ns(400)),
        ("MESSAGE out, 100 B, 1 at once", messages_ns(1)),
        ("MESSAGE out, redelivered, 400 at once", messages_ns(400, redelivered=True)),
    ]


def main() -> None:
    print(f"{'':42}{'ns':>8}")  # the result of the command
    for what, nanoseconds in measure():
        print(f"{what:42}{nanoseconds:8.0f}")  # the result of the command


if __name__ == "__main__":
    main()
