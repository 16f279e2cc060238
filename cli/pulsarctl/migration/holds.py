"""A subscription at the beginning of a topic, so that the broker trims nothing while the topic is copied."""

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import Conflict, NotFound
from pulsarctl.values.message_ids import EARLIEST

HOLD = "pulsarctl-copy"


def hold(admin: AdminClient, topic: str) -> None:
    """Does nothing if an earlier run holds the topic."""
    try:
        admin.topics.create_subscription(topic, HOLD, EARLIEST)
    except Conflict:
        return


def release(admin: AdminClient, topic: str) -> None:
    try:
        admin.topics.delete_subscription(topic, HOLD, force=True)
    except NotFound:
        return
