"""A regular expression by which a client chooses topics of a namespace.

Pulsar evaluates it with RE2, whose time grows with the length of the name and nothing else: `(a+)+$` cannot hold
up the other clients. Python's `re` can, hence the library. What RE2 does not know (look-ahead, back references)
raises `InvalidPattern`; clients then filter a whole list themselves.
It is matched without the scheme and without the partition suffix of the names (docs/protocol.md "Topic lists").
"""

from __future__ import annotations

from broker_core.names import without_partition

SCHEME_END = "://"


class InvalidPattern(Exception):
    """The text says why the pattern cannot be used."""


class TopicPattern:
    def __init__(self, text: str) -> None:
        import re2  # type: ignore[import-untyped]  # the library has no types; loaded late, most brokers never need it

        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        scheme, separator, rest = text.partition(SCHEME_END)
        try:
            self._fullmatch = re2.compile(rest if separator else scheme, options).fullmatch
        except (re2.error, ValueError, OverflowError) as error:
            raise InvalidPattern(f"{text!r}: {error}") from None

    def matches(self, topic: str) -> bool:
        """Whether the full name of a topic, or of one of its partitions, is meant."""
        return self._fullmatch(without_partition(topic).partition(SCHEME_END)[2]) is not None
