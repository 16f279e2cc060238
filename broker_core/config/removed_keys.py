"""Keys that Pulsar 5.0 removed: a file of an older release may have them, without effect. The start names them."""

from collections.abc import Iterable, Iterator

from broker_core.config.reading import Entry

REMOVED = frozenset(
    {
        "managedLedgerUnackedRangesOpenCacheSetEnabled",
        "subscriptionKeySharedUseClassicPersistentImplementation",
        "subscriptionSharedUseClassicPersistentImplementation",
    }
)


def removed_keys(in_file: Iterable[Entry]) -> Iterator[str]:
    """A warning for each of them that has a value."""
    for entry in in_file:
        if entry.key in REMOVED and entry.value is not None:
            yield f"{entry.key} ({entry.source}) has no effect: Pulsar 5.0 removed it, and this broker never had it"
