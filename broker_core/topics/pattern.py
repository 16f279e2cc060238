"""A regular expression that chooses topics of a namespace for a client.

Pulsar uses RE2, whose time depends only on the length of the name, so `(a+)+$` cannot delay other clients. With
Python's `re` it can, hence the library. Syntax that RE2 does not have (look-ahead, back references) raises
`InvalidPattern`, and clients then filter the whole list.
The pattern applies to names without scheme and partition suffix (docs/reference/protocol.md "Topic lists").
"""

from __future__ import annotations

from broker_core.names import without_partition

SCHEME_END = "://"


class InvalidPattern(Exception):
    """The message says why the pattern cannot be used."""


class TopicPattern:
    def __init__(self, text: str) -> None:
        import re2  # type: ignore[import-untyped]  # the library has no types; loaded late, most brokers never need it

        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        scheme, separator, without_scheme = text.partition(SCHEME_END)
        try:
            self._fullmatch = re2.compile(without_scheme if separator else scheme, options).fullmatch
        except (re2.error, ValueError, OverflowError) as error:
            raise InvalidPattern(f"{text!r}: {error}") from None

    def matches(self, topic: str) -> bool:
        """Whether the pattern matches the full name of a topic or partition."""
        return self._fullmatch(without_partition(topic).partition(SCHEME_END)[2]) is not None
