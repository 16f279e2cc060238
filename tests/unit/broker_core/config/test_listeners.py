"""`advertisedListeners` and `internalListenerName`."""

import pytest

from broker_core.config.listeners import ListenerUrls, advertised_listeners
from broker_core.errors import InvalidConfiguration


def test_a_listener_has_an_address_for_each_scheme() -> None:
    text = "inside:pulsar://a:6650, outside:pulsar://b:6651,outside:pulsar+ssl://b:6652,outside:https://b:8443"
    found = advertised_listeners(text, "")
    assert found.by_name == {
        "inside": ListenerUrls("pulsar://a:6650"),
        "outside": ListenerUrls("pulsar://b:6651", "pulsar+ssl://b:6652", "", "https://b:8443"),
    }


def test_the_first_listener_is_the_default_and_others_fill_its_gaps() -> None:
    text = "inside:pulsar://a:6650,outside:pulsar://b:6651,outside:pulsar+ssl://b:6652"
    assert advertised_listeners(text, "").internal == ListenerUrls("pulsar://a:6650", "pulsar+ssl://b:6652")
    assert advertised_listeners(text, "outside").internal == ListenerUrls("pulsar://b:6651", "pulsar+ssl://b:6652")


def test_the_internal_listener_of_pulsar_5_is_the_own_address_unless_it_is_listed() -> None:
    assert advertised_listeners("", "internal") == ({}, ListenerUrls())
    assert advertised_listeners("x:pulsar://a:1", "internal").internal == ListenerUrls()
    listed = advertised_listeners("x:pulsar://a:1,internal:pulsar://b:1", "internal")
    assert listed.internal == ListenerUrls("pulsar://b:1")


def test_without_listeners_the_broker_has_its_own_address() -> None:
    assert advertised_listeners("", "") == ({}, ListenerUrls())


@pytest.mark.parametrize(
    ("text", "internal", "reason"),
    [
        ("pulsar://a:6650", "", "do not contain listener name"),
        ("a", "", "do not contain listener name"),
        ("x:pulsar://a:1,x:pulsar://b:1", "", "there are redundant configure for listener `x`"),
        ("x:pulsar://a:1,y:pulsar://a:1", "", "must not specify `a:1` to different listener."),
        ("x:ftp://a:1", "", "must be SCHEME://HOST:PORT"),
        ("x:pulsar://a", "", "must be SCHEME://HOST:PORT"),
        ("x:pulsar://a:99999", "", "must be SCHEME://HOST:PORT"),
        ("x:pulsar://a:1/path", "", "must be SCHEME://HOST:PORT"),
        ("x:pulsar://a:1", "y", "internalListenerName: advertisedListeners has no listener 'y'"),
    ],
)
def test_a_wrong_listener_is_refused(text: str, internal: str, reason: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        advertised_listeners(text, internal)
    assert reason in str(refused.value)
