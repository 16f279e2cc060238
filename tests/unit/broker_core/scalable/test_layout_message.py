"""Layouts as clients get them."""

from broker_core.names import parse_topic
from broker_core.scalable.layout_message import layout_message
from broker_core.scalable.synthetic import synthetic_layout

PLAIN, TLS = "pulsar://broker:6650", "pulsar+ssl://broker:6651"
LAYOUT = synthetic_layout(parse_topic("x"), 0)


def test_a_client_gets_both_addresses_of_the_controller() -> None:
    message = layout_message(LAYOUT, PLAIN, TLS)
    assert (message.controller_broker_url, message.controller_broker_url_tls) == (PLAIN, TLS)


def test_a_client_with_tls_gets_no_plain_address_of_the_controller() -> None:
    message = layout_message(LAYOUT, PLAIN, TLS, over_tls=True)
    assert not message.HasField("controller_broker_url")
    assert message.controller_broker_url_tls == TLS
