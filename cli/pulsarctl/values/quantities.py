"""Durations and sizes on the command line. Pure.

Everything that pulsar-admin accepts means the same here. A duration is an integer with a suffix (`s m h d w y`, in any
case; `m` is minutes) or a number of seconds. A size is an integer with a suffix (`k m g t`, powers of 1024) or a number
of bytes. -1 is "no limit" if a command has one. In addition: `500ms`, `1d12h`, ISO-8601 (`PT30M`), `KiB`, and `KB`.
"""

import re

from pulsarctl.errors import UsageProblem

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

_DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_ISO = re.compile(r"p(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)?")
_SIZE = re.compile(r"(-?\d+)([kmgt]?)(?:i?b)?")


def parse_duration(text: str) -> float:
    """A duration in seconds. Raises `UsageProblem` naming the suffixes."""
    lowered = text.strip().lower()
    if re.fullmatch(r"-?\d+", lowered):
        return int(lowered)
    if lowered.startswith("p") and (match := _ISO.fullmatch(lowered)) and any(match.groups()):
        days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
        return days * 86_400 + hours * 3600 + minutes * 60 + seconds
    parts = _DURATION_PART.findall(lowered)
    if not parts or "".join(number + unit for number, unit in parts) != lowered:
        raise UsageProblem(
            f"'{text}' is not a duration",
            hint="use 30 (seconds), 500ms, 10s, 5m, 2h, 7d, 1w, 1y, 1d12h, or PT30M",
        )
    return sum(int(number) * SECONDS[unit] for number, unit in parts)


def parse_seconds(text: str) -> int:
    """A duration in whole seconds, rounded up, for what Pulsar stores in seconds."""
    return -int(-parse_duration(text) // 1)


def parse_size(text: str) -> int:
    """A size in bytes. Raises `UsageProblem`."""
    match = _SIZE.fullmatch(text.strip().lower())
    if not match:
        raise UsageProblem(f"'{text}' is not a size", hint="use 4096 (bytes), 10K, 5M, 1G, or 1T (powers of 1024)")
    return int(match.group(1)) * BYTES[match.group(2)]


def human_size(size: int) -> str:
    """`3.4 GiB`, for tables."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def human_duration(milliseconds: int) -> str:
    """`1d 12h`, `500ms`; `parse_duration` reads it without the space."""
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
