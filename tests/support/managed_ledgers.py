"""The managed ledger of a topic in a broker in this process."""

from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.topic.topic import Topic


def managed_ledger(topic: Topic) -> ManagedLedger:
    log = topic.ledger.on_disk
    assert isinstance(log, ManagedLedger)
    return log
