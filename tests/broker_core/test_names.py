"""Topic and namespace names."""

import pytest

from broker_core.errors import InvalidName
from broker_core.names import NamespaceName, check_new_entity, parse_topic


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("t", "persistent://public/default/t"),
        ("a/b/t", "persistent://a/b/t"),
        ("persistent://a/b/t", "persistent://a/b/t"),
        ("non-persistent://a/b/t", "non-persistent://a/b/t"),
        ("persistent://a/b/wörter und 🚀", "persistent://a/b/wörter und 🚀"),
    ],
)
def test_short_and_full_names_mean_the_same_topic(text: str, full: str) -> None:
    assert str(parse_topic(text)) == full


@pytest.mark.parametrize("text", ["", "a/b", "a/b/c/d/e", "http://a/b/t", "persistent://a/t", "persistent://a/b/"])
def test_a_name_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_topic(text)


def test_the_old_four_part_form_is_refused_by_name() -> None:
    with pytest.raises(InvalidName, match="tenant/cluster/namespace/topic is not supported"):
        parse_topic("persistent://tenant/cluster/namespace/topic")


@pytest.mark.parametrize(
    ("text", "partition"),
    [("t-partition-0", 0), ("t-partition-12", 12), ("t-partition-01", -1), ("t-partition-", -1), ("t", -1)],
)
def test_only_a_plain_number_is_a_partition(text: str, partition: int) -> None:
    assert parse_topic(text).partition == partition


def test_a_partition_knows_its_topic() -> None:
    topic = parse_topic("a/b/t")
    assert topic.partition_name(3).base == topic
    assert str(topic.partition_name(3)) == "persistent://a/b/t-partition-3"


@pytest.mark.parametrize("text", ["a", "a/b/c", "a b/c", "/b"])
def test_a_namespace_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        NamespaceName.parse(text)


@pytest.mark.parametrize("name", ["", "shöp", "a b", "a/b", "a\n"])
def test_a_new_tenant_has_a_name_that_pulsar_takes(name: str) -> None:
    with pytest.raises(InvalidName, match="Tenant name is not valid"):
        check_new_entity("Tenant", name)


def test_a_name_that_an_older_release_took_is_still_read() -> None:
    assert str(NamespaceName.parse("shöp/ü")) == "shöp/ü"
