"""`bindAddresses`."""

import pytest

from broker_core.config.bind_addresses import BindAddress, bind_addresses
from broker_core.errors import InvalidConfiguration


def test_an_address_belongs_to_a_listener() -> None:
    found = bind_addresses("a:pulsar://127.0.0.1:1, b:https://[::1]:0", {"a", "b"})
    assert found == (BindAddress("a", "pulsar", "127.0.0.1", 1), BindAddress("b", "https", "::1", 0))
    assert [one.is_tls for one in found] == [False, True]


@pytest.mark.parametrize(
    "text",
    ["pulsar://127.0.0.1:1", "a:ftp://127.0.0.1:1", "a:pulsar://localhost:1", "a:pulsar://127.0.0.1", "a", "a:b:c"],
)
def test_a_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfiguration, match="must be LISTENER:SCHEME://IP:PORT"):
        bind_addresses(text, {"a"})


def test_the_listener_must_be_advertised() -> None:
    with pytest.raises(InvalidConfiguration, match="advertisedListeners has no listener 'c'"):
        bind_addresses("c:pulsar://127.0.0.1:1", {"a"})
