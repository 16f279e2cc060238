"""Points in time on the command line: one grammar in every command. Pure.

    13 digits (milliseconds) | 10 digits (seconds) | a date or ISO-8601, in UTC without an offset | -DURATION (ago)

Where pulsar-admin takes a duration, a plain DURATION also means that long ago. A `@` may precede each form. In a
position, `-10` without a unit is a number of messages.
"""

from datetime import UTC, datetime, timedelta

from pulsarctl.errors import UsageProblem
from pulsarctl.values.quantities import parse_duration

GRAMMAR = "use 2026-01-31T08:00:00Z, 1767225600000 (ms) or 1767225600 (s), or -10m for ten minutes ago"
_EPOCH = datetime.fromtimestamp(0, UTC)
LAST_MS = 253_402_300_799_999  # the year 9999


def parse_time_ms(text: str, now_ms: int, *, or_duration: bool = False) -> int:
    """Milliseconds since the epoch. Durations count back from `now_ms`.

    `or_duration`: `1h` is an hour ago, like `-1h`. Raises `UsageProblem`.
    """
    word = text.strip().removeprefix("@")
    if word.isdecimal() and len(word) in (10, 13):
        return _checked(int(word) * (1000 if len(word) == 10 else 1), text)
    if word.startswith("-"):
        return _checked(now_ms - _milliseconds(word[1:], text), text)
    if or_duration and not (word.isdecimal() and text.strip().startswith("@")):
        try:
            return _checked(now_ms - round(parse_duration(word) * 1000), text)
        except UsageProblem:
            if word.isdecimal():
                raise
    return _checked(_iso_ms(word, text), text)


def utc(time_ms: int) -> str:
    """`2026-01-31T08:00:00.000Z`, to echo a time that was given."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(duration: str, text: str) -> int:
    try:
        return round(parse_duration(duration) * 1000)
    except UsageProblem as error:
        raise UsageProblem(f"'{text}' is not a time: {error.message}", hint=error.hint) from error


def _iso_ms(word: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(word)
    except ValueError as error:
        raise UsageProblem(f"'{text}' is not a time", hint=GRAMMAR) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)  # further digits are dropped: an end is never later


def _checked(time_ms: int, text: str) -> int:
    if not 0 <= time_ms <= LAST_MS:
        raise UsageProblem(f"'{text}' is before 1970 or after 9999", hint=GRAMMAR)
    return time_ms
