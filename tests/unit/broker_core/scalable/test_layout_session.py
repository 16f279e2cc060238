"""What a client that follows the layout of a topic gets."""

from typing import cast

from broker_core.client import Outbound
from broker_core.errors import TopicNotFound
from broker_core.names import parse_topic
from broker_core.scalable.layout_session import LayoutSession
from broker_core.wire.pulsar_api_pb2 import ScalableTopicDAG

NAME = parse_topic("topic://public/default/t")


class Sent(list[bytes]):
    """The frames that a client gets."""

    send = list.append
    writable = True


def test_a_topic_that_is_being_deleted_has_no_layout_to_send() -> None:
    def layout() -> ScalableTopicDAG:
        raise TopicNotFound("it has no segments any more")

    sent = Sent()
    session = LayoutSession(cast(Outbound, sent), 1, NAME, NAME, layout)
    session.layout_changed()
    assert sent == []
    session.topic_deleted()
    assert len(sent) == 1
