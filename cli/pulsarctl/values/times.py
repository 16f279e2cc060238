"""Points in time as one types them -> milliseconds since the epoch."""

from collections.abc import Callable
from datetime import datetime

from pulsarctl.errors import UsageProblem
from pulsarctl.values.quantities import parse_duration


def parse_timestamp_ms(text: str, now_ms: Callable[[], int]) -> int:
    """A duration means that long ago; else ISO-8601, or `@` before a duration or time, as in `@-1h`.

    Without an offset a time is this machine's local time. Raises `UsageProblem`.
    """
    word = text.removeprefix("@").removeprefix("-")
    try:
        return now_ms() - int(parse_duration(word) * 1000)
    except UsageProblem:
        pass
    try:
        return int(datetime.fromisoformat(word).timestamp() * 1000)
    except ValueError as error:
        raise UsageProblem(
            f"'{text}' is not a point in time", hint="write 10m (that long ago) or 2026-01-31T12:00:00Z"
        ) from error
