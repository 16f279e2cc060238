"""Where reading starts for `index:N`: the admin API knows the message with an index (PIP-415)."""

from contextlib import closing

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError, NotFound
from pulsarctl.raw.partition_consumer import Start
from pulsarctl.settings.settings import Settings
from pulsarctl.values.message_ids import LATEST, MessageId
from pulsarctl.values.names import partition_index

YET_TO_COME = "Message not found for index"


def starts_at_index(settings: Settings, topic: str, index: int) -> dict[int, Start] | None:
    """The message with the index in each partition; None from a broker that cannot tell, such as Pulsar before 4.1."""
    with closing(AdminClient(settings)) as admin:
        try:
            return dict(_start(admin, name, index) for name in admin.topics.parts(topic))
        except CliError:
            return None


def _start(admin: AdminClient, topic: str, index: int) -> tuple[int, Start]:
    try:
        found = admin.topics.message_id_of_index(topic, index)
    except NotFound as error:
        if YET_TO_COME not in (error.reason or ""):
            raise
        return partition_index(topic), LATEST
    partition = int(found["partitionIndex"])
    return partition, MessageId(found["ledgerId"], found["entryId"], partition, int(found.get("batchIndex", -1)))
