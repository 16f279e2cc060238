"""The errors that refuse a compaction."""

from broker_core.errors import BrokerError


class WrongPlaces(BrokerError):
    """The places are not those of this log, so nothing was compacted."""
