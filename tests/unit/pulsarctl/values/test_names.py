"""Names are encoded once as paths of the REST API."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.values.message_ids import LATEST, MessageId, parse_message_id
from pulsarctl.values.names import (
    full_topic,
    is_partition,
    namespace_of,
    namespace_path,
    partition_index,
    readable_topic,
    scalable_path,
    scalable_topic,
    topic_path,
    without_partition,
)


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("t", "persistent/public/default/t"),
        ("shop/orders/t", "persistent/shop/orders/t"),
        ("non-persistent://shop/orders/t", "non-persistent/shop/orders/t"),
        ("persistent://shop/orders/a/b c%", "persistent/shop/orders/a%2Fb%20c%25"),
        ("grüße 😀", "persistent/public/default/gr%C3%BC%C3%9Fe%20%F0%9F%98%80"),
    ],
)
def test_a_topic_is_one_encoded_segment(topic: str, path: str) -> None:
    assert topic_path(topic) == path


@pytest.mark.parametrize("topic", ["a/b", "http://a/b/c", "persistent://a/b", "", "persistent://a/b/"])
def test_an_invalid_topic_is_refused(topic: str) -> None:
    with pytest.raises(UsageProblem):
        full_topic(topic)


def test_a_scalable_topic_is_no_regular_one() -> None:
    with pytest.raises(UsageProblem, match="'topic://a/b/c' is a scalable topic"):
        full_topic("topic://a/b/c")


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("t", "public/default/t"),
        ("shop/orders/t", "shop/orders/t"),
        ("topic://shop/orders/a/b c%", "shop/orders/a%2Fb%20c%25"),
    ],
)
def test_a_scalable_topic_is_one_encoded_segment(topic: str, path: str) -> None:
    assert scalable_path(topic) == path
    assert namespace_of(scalable_topic(topic)) == path.rpartition("/")[0]


@pytest.mark.parametrize("topic", ["a/b", "persistent://a/b/c", "segment://a/b/c", "topic://a/b", "topic://", ""])
def test_an_invalid_name_of_a_scalable_topic_is_refused(topic: str) -> None:
    with pytest.raises(UsageProblem):
        scalable_topic(topic)


@pytest.mark.parametrize("topic", ["t", "t-partition-", "t-partition-01", "t-partition-1\n", "a/b/-partition-1"])
def test_a_topic_whose_name_ends_otherwise_is_no_partition(topic: str) -> None:
    assert (is_partition(topic), partition_index(topic), without_partition(topic)) == (False, -1, topic)


@pytest.mark.parametrize("topic", ["t", "persistent://a/b/t", "x-partition-7"])
def test_a_partition_has_the_name_of_its_topic_and_its_index(topic: str) -> None:
    name = f"{topic}-partition-12"
    assert (is_partition(name), partition_index(name), without_partition(name)) == (True, 12, topic)


@pytest.mark.parametrize("namespace", ["public", "a/b/c", "/b", ""])
def test_an_invalid_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(UsageProblem):
        namespace_path(namespace)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", MessageId(-1, -1)),
        ("Latest", LATEST),
        ("3:4", MessageId(3, 4)),
        ("-1:-1", MessageId(-1, -1)),
        ("3:4:1:2", MessageId(3, 4, 1, 2)),
    ],
)
def test_a_message_id_is_parsed(text: str, expected: MessageId) -> None:
    assert parse_message_id(text) == expected


@pytest.mark.parametrize("text", ["3", "a:b", "1:2:3:4:5", ""])
def test_an_invalid_message_id_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_message_id(text)


SEGMENT = "segment://shop/orders/a/b c/0000-7fff-12"


def test_a_segment_has_a_path_an_id_and_its_topic() -> None:
    assert topic_path(SEGMENT) == "segments/shop/orders/a%2Fb%20c/0000-7fff-12"
    assert partition_index(SEGMENT) == 12
    assert without_partition(SEGMENT) == "topic://shop/orders/a/b c"
    assert namespace_of(SEGMENT) == "shop/orders"


@pytest.mark.parametrize(
    ("topic", "name"),
    [("t", "persistent://public/default/t"), ("topic://a/b/c", "topic://a/b/c"), (SEGMENT, SEGMENT)],
)
def test_a_job_reads_regular_topics_scalable_ones_and_segments(topic: str, name: str) -> None:
    assert readable_topic(topic) == name


@pytest.mark.parametrize("topic", ["topic://a/b", "segment://a/b/c", "segment://a/b/0000-7fff-1", "a/b"])
def test_a_job_refuses_other_names(topic: str) -> None:
    with pytest.raises(UsageProblem):
        readable_topic(topic)
