"""The facts that a dispatcher reports for the statistics. Each type of dispatcher fills in what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer


class DrainingHash(NamedTuple):
    """A key hash that moves to another consumer once this one has acknowledged its entries."""

    sticky_hash: int
    entries: int


class OwnedHashes(NamedTuple):
    """The hash ranges of one Key_Shared consumer, both ends included, and the hashes that it still drains."""

    ranges: Sequence[tuple[int, int]]
    draining: Sequence[DrainingHash]


class HeldBack(NamedTuple):
    """in_replay: entries that consumers gave back and that are not delivered again yet.

    blocked: whether unacknowledged messages block the subscription.

    delayed, delayed_index_bytes: entries held back until their delivery time, and the memory of their index.
    """

    in_replay: int = 0
    blocked: bool = False
    delayed: int = 0
    delayed_index_bytes: int = 0


NOTHING_HELD = HeldBack()


class DispatchFacts(NamedTuple):
    """key_shared_mode: Pulsar's name of it, "" where consumers have no keys.

    throttled: how often a dispatch rate left nothing to send, by Pulsar's name of the counter.

    hashes: what each Key_Shared consumer owns, None for other types.
    """

    held: HeldBack = NOTHING_HELD
    key_shared_mode: str = ""
    out_of_order: bool = False
    throttled: Mapping[str, int] = MappingProxyType({})
    hashes: Mapping[Consumer, OwnedHashes] | None = None
