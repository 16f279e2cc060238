"""Bundles of a namespace: ranges of a 32-bit hash of the topic name. Pure.

One broker owns all bundles of every namespace. They exist because tools list them and lookups return them. The hash is
CRC-32 (zlib) of the full topic name in UTF-8. A range is [lower, upper); the last one includes its upper end.
"""

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from broker_core.config.frozen import frozen
from broker_core.errors import InvalidRequest, InvalidValue, PreconditionFailed
from broker_core.metadata.policies.json_values import Fields, mapping, names, shown, whole_number

FULL_UPPER = 0xFFFF_FFFF

_RANGE = re.compile(r"0x([0-9a-fA-F]{1,8})_0x([0-9a-fA-F]{1,8})")


@frozen
class Bundles:
    """`boundaries` are sorted, the first is 0 and the last `FULL_UPPER`; n bundles have n + 1 boundaries."""

    boundaries: tuple[int, ...]

    @classmethod
    def evenly(cls, count: int) -> "Bundles":
        step = (FULL_UPPER + 1) // count
        return cls((*(index * step for index in range(count)), FULL_UPPER))

    @classmethod
    def from_document(cls, default_count: int, most: int, document: Any, name: str = "bundles") -> "Bundles":
        """Reads Pulsar's `BundlesData`; without boundaries, splits the range evenly, into at most `most` bundles."""
        fields = Fields(mapping(document, name))
        boundaries = fields.read("boundaries", names, ())
        if boundaries:
            _check_count(len(boundaries) - 1, most)
            return cls(_checked({_parse_boundary(text) for text in boundaries}))
        count = fields.read("numBundles", whole_number, 0)
        _check_count(count, most)
        return cls.evenly(count if count > 0 else default_count)

    def to_document(self) -> dict[str, Any]:
        return {
            "boundaries": [f"0x{boundary:08x}" for boundary in self.boundaries],
            "numBundles": len(self.boundaries) - 1,
        }

    def bundle_of(self, topic: str) -> str:
        """The bundle of a full topic name, in Pulsar's notation: `0x40000000_0x80000000`."""
        upper = bisect_right(self.boundaries, hash_of(topic), hi=len(self.boundaries) - 1)
        return _range_text(self.boundaries[upper - 1], self.boundaries[upper])

    def ranges(self) -> list[str]:
        """All bundles, in the notation of `bundle_of`."""
        return [_range_text(lower, upper) for lower, upper in pairwise(self.boundaries)]

    def split(self, bundle: str, positions: Iterable[int], most: int) -> "Bundles":
        """Return the bundles with one of them split; raises `InvalidValue` for more than `most` bundles."""
        lower, upper = limits_of(bundle)
        inside = {position for position in positions if lower < position < upper}
        boundaries = tuple(sorted({*self.boundaries, *inside}))
        if len(boundaries) - 1 > most:
            raise InvalidValue(f"cannot split: the namespace would have more than {most} bundles")
        return Bundles(boundaries)

    def find(self, namespace: str, text: str) -> str:
        """The bundle that `text` names, in the notation of `bundle_of`.

        Raises `InvalidValue` if it names none, and `PreconditionFailed` if the namespace has no such bundle.
        """
        named = _RANGE.fullmatch(text)
        if named is None:
            raise InvalidValue(f"Invalid bundle range: {text}")
        lower, upper = (int(boundary, 16) for boundary in named.groups())
        index = bisect_left(self.boundaries, lower, hi=len(self.boundaries) - 1)
        if self.boundaries[index] != lower or lower == FULL_UPPER:
            raise PreconditionFailed(f"Cannot find bundle {namespace}/{text} in the bundles list")
        existing = _range_text(lower, self.boundaries[index + 1])
        if self.boundaries[index + 1] != upper:
            reason = f"Invalid upper boundary for bundle {namespace}/{text}"
            raise PreconditionFailed(f"{reason}. Expected upper boundary of {namespace}/{existing}")
        return existing


def hash_of(topic: str) -> int:
    """The position of a full topic name."""
    return zlib.crc32(topic.encode())


def limits_of(bundle: str) -> tuple[int, int]:
    """The boundaries of a bundle in the notation of `bundle_of`."""
    lower, _, upper = bundle.partition("_")
    return int(lower, 16), int(upper, 16)


def _range_text(lower: int, upper: int) -> str:
    return f"0x{lower:08x}_0x{upper:08x}"


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise InvalidRequest(f"Invalid number of bundles. Number of bundles has to be in the range of (0, {most}].")


def _parse_boundary(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise InvalidRequest(f"Invalid bundle boundary: {shown(text)}") from None


def _checked(boundaries: Iterable[int]) -> tuple[int, ...]:
    ordered = sorted(boundaries)
    if ordered[0] != 0 or ordered[-1] != FULL_UPPER or len(ordered) < 2:
        first, last = f"0x{ordered[0]:08x}"[:40], f"0x{ordered[-1]:08x}"[:40]
        raise InvalidRequest(f"Input bundles do not cover the whole hash range. first:{first}, last:{last}")
    return tuple(ordered)
