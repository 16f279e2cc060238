"""The names of producers and consumers in segments."""

import pytest

from broker_core.wire.segment_clients import name_in_segment, without_segment


@pytest.mark.parametrize("name", ["orders", "", "a-seg-1", "a-seg-"])
def test_the_name_of_the_application_comes_back(name: str) -> None:
    assert without_segment(name_in_segment(name, 12)) == name


@pytest.mark.parametrize("name", ["orders", "orders-seg-", "orders-seg-1a", "orders-seg-1\n"])
def test_a_name_without_a_segment_stays(name: str) -> None:
    assert without_segment(name) == name
