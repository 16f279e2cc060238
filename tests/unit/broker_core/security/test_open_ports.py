"""A broker that requires client certificates names its plain ports, which do not."""

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.tls import TlsConfig
from broker_core.security.open_ports import without_certificates


def named(broker_port: int, web_port: int, *, required: bool = True) -> list[str]:
    server = ServerConfig(broker_port=broker_port, web_port=web_port)
    tls = TlsConfig(require_client_certificate=required)
    return [line.split()[0] for line in without_certificates(BrokerConfig(server=server, tls=tls))]


def test_each_plain_port_is_named() -> None:
    assert named(6650, 0) == ["brokerServicePort", "webServicePort"]


def test_a_port_that_is_off_is_not_named() -> None:
    assert named(-1, 8080) == ["webServicePort"]


def test_plain_ports_are_not_named_where_no_certificate_is_required() -> None:
    assert named(6650, 8080, required=False) == []
