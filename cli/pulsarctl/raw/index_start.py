"""Where reading starts for `index:N`: the admin API knows the message with an index (PIP-415)."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError, NotFound
from pulsarctl.raw.partition_consumer import Start
from pulsarctl.settings.settings import Settings
from pulsarctl.values.message_ids import EARLIEST, MessageId
from pulsarctl.values.names import partition_index

YET_TO_COME = "Message not found for index"
CANNOT_TELL = (400, 404, 405, 412)  # no such request, or no index is kept


@dataclass(frozen=True, slots=True)
class IndexStart:
    """Where to start in each partition. In those of `yet_to_come`, later messages may still be before the index."""

    starts: Mapping[int, Start]
    yet_to_come: frozenset[int]


def start_at_index(settings: Settings, topic: str, index: int, after: Mapping[int, Start]) -> IndexStart | None:
    """None from a broker that cannot tell, such as Pulsar before 4.1. Raises what other requests raise.

    `after`: the end of each partition at an earlier time, where to start if the index is yet to come.
    """
    with closing(AdminClient(settings)) as admin:
        try:
            ids = {partition_index(name): _id_at(admin, name, index) for name in admin.topics.parts(topic)}
        except CliError as error:
            if error.status in CANNOT_TELL:
                return None
            raise
    starts = {partition: start or after.get(partition, EARLIEST) for partition, start in ids.items()}
    return IndexStart(starts, frozenset(partition for partition, start in ids.items() if start is None))


def _id_at(admin: AdminClient, topic: str, index: int) -> MessageId | None:
    """None if no message has the index yet."""
    try:
        answer = admin.topics.message_id_of_index(topic, index)
    except NotFound as error:
        if YET_TO_COME not in (error.reason or ""):
            raise
        return None
    partition = int(answer["partitionIndex"])
    return MessageId(answer["ledgerId"], answer["entryId"], partition, int(answer.get("batchIndex", -1)))
