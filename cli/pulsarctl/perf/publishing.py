"""The producers of a measurement, and what they send."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.perf.payloads import letters, lines_of, numbered
from pulsarctl.produce.produce_options import parse_compression
from pulsarctl.values.quantities import human_size, parse_size

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging

SIZE_MAX = 1 << 30


def open_producers(client: "Messaging", topics: Sequence[str], count: int, options: PublishOptions) -> list[Any]:
    """`count` producers of each topic, in an order that uses all topics first."""
    name = options.producer_name
    names = [name if count == 1 or name is None else f"{name}-{number}" for number in range(count)]
    return [client.producer(topic, replace(options, producer_name=name)) for name in names for topic in topics]


def body_of(size: str) -> bytes:
    """The payload of each message. Raises `UsageProblem`."""
    size_bytes = parse_size(size)
    if not 0 <= size_bytes <= SIZE_MAX:
        raise UsageProblem(f"cannot send messages of {size} bytes", hint=f"use 0 to {human_size(SIZE_MAX)}")
    return letters(size_bytes)


def bodies_of(size: str, file: str | None, delimiter: str, *, are_numbered: bool) -> Iterator[bytes]:
    """The payloads of successive messages. Raises `UsageProblem` or `CliError`."""
    bodies = cycle((body_of(size),) if file is None else _lines_of_file(file, delimiter))
    return numbered(bodies) if are_numbered else bodies


def _lines_of_file(file: str, delimiter: str) -> Sequence[bytes]:
    try:
        return lines_of(Path(file).read_bytes(), delimiter)
    except OSError as error:
        raise CliError(f"cannot read {file}: {error.strerror}") from error


def publish_options(
    delay_ms: float, messages: int, size: str, compression: str, pending: int, send_seconds: float, *, batching: bool
) -> PublishOptions:
    """The settings of producers that collect batches for `delay_ms` (0: none). Raises `UsageProblem`."""
    return PublishOptions(
        compression=parse_compression(compression),
        batching=batching and delay_ms > 0,
        batch_delay_ms=max(1, round(delay_ms)),
        batch_messages_max=messages,
        batch_bytes_max=max(1, parse_size(size)),
        pending_messages_max=pending,
        send_timeout_ms=max(1, round(send_seconds * 1000)),
    )
