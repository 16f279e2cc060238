"""Connections are counted for each address, in constant time."""

from broker_core.security.connection_count import ConnectionCount


def test_an_address_gets_its_places_back() -> None:
    places = ConnectionCount(0, 1)
    assert not places.take("/10.0.0.1")
    assert places.take("/10.0.0.1") == "Reached the maximum number of connections on address /10.0.0.1"
    assert not places.take("/10.0.0.2")
    places.free("/10.0.0.1")
    assert not places.take("/10.0.0.1")


def test_a_refused_connection_does_not_count() -> None:
    places = ConnectionCount(1, 0)
    assert not places.take("/10.0.0.1")
    assert places.take("/10.0.0.2") == "Reached the maximum number of connections"
    assert places.taken == 1
    places.free("/10.0.0.1")
    assert not places.take("/10.0.0.2")


def test_zero_is_no_limit() -> None:
    places = ConnectionCount(0, 0)
    assert not any(places.take("/10.0.0.1") for _ in range(100))


def test_nothing_is_kept_of_an_address_that_has_left() -> None:
    places = ConnectionCount(0, 1)
    for number in range(100):
        places.take(f"/10.0.0.{number}")
        places.free(f"/10.0.0.{number}")
    assert vars(places) == vars(ConnectionCount(0, 1))
