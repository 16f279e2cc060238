"""Topic and namespace names."""

import pytest

from broker_core.console.admin_api import Refused, TopicName
from broker_core.errors import InvalidName
from broker_core.names import NamespaceName, check_new_entity, parse_topic, within, without_partition


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
def test_a_malformed_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_topic(text)


@pytest.mark.parametrize("local", ["t", "with/slashes/in/it", "t-partition-3"])
def test_a_name_of_four_parts_has_a_namespace_with_a_cluster(local: str) -> None:
    name = parse_topic(f"persistent://tenant/cluster/ns/{local}")
    assert str(name) == f"persistent://tenant/cluster/ns/{local}"
    assert (name.namespace, name.namespace.cluster, name.local) == (
        NamespaceName("tenant", "cluster/ns"),
        "cluster",
        local,
    )
    assert NamespaceName.parse("tenant/cluster/ns") == name.namespace


@pytest.mark.parametrize("text", ["persistent://a/b c/d/t", "persistent://a/b/c d/t", "persistent://a//c/t", "a/b/c/t"])
def test_an_invalid_name_of_four_parts_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_topic(text)


def test_a_namespace_named_as_a_cluster_does_not_own_the_topics_of_that_cluster() -> None:
    topics = ["persistent://a/b/t", "persistent://a/b/c/t", "persistent://a/bb/t", "non-persistent://a/b/t"]
    assert list(within(NamespaceName("a", "b"), "persistent", topics)) == ["persistent://a/b/t"]
    assert list(within(NamespaceName("a", "b/c"), "persistent", topics)) == ["persistent://a/b/c/t"]


@pytest.mark.parametrize(
    ("text", "partition"),
    [
        ("t-partition-0", 0),
        ("t-partition-12", 12),
        ("t-partition-01", -1),
        ("t-partition-", -1),
        ("t-partition-1\n", -1),
        ("t", -1),
    ],
)
def test_only_a_plain_number_is_a_partition(text: str, partition: int) -> None:
    assert parse_topic(text).partition == partition


def test_a_partition_knows_its_topic() -> None:
    topic = parse_topic("a/b/t")
    assert topic.partition_name(3).base == topic
    assert str(topic.partition_name(3)) == "persistent://a/b/t-partition-3"


@pytest.mark.parametrize("text", ["a", "a/b/c/d", "a b/c", "/b"])
def test_a_malformed_namespace_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        NamespaceName.parse(text)


@pytest.mark.parametrize("name", ["", "shöp", "a b", "a/b", "a\n"])
def test_a_new_tenant_has_a_name_that_pulsar_takes(name: str) -> None:
    with pytest.raises(InvalidName, match="Tenant name is not valid"):
        check_new_entity("Tenant", name)


def test_a_name_that_an_older_version_accepted_is_still_read() -> None:
    assert str(NamespaceName.parse("shöp/ü")) == "shöp/ü"


@pytest.mark.parametrize(
    "local", ["t", "t-partition-0", "t-partition-12", "t-partition-01", "-partition-3", "a\n-partition-1"]
)
@pytest.mark.parametrize("before", ["", "x-partition-7-"])
def test_removing_the_partition_suffix_matches_parsing(local: str, before: str) -> None:
    full = f"persistent://a/b/{before}{local}"
    assert without_partition(full) == str(parse_topic(full).base)


def test_only_names_of_normal_length_are_cached() -> None:
    """Four thousand names of 5 MB each would take 20 GB."""
    short, long = "persistent://a/b/t", "persistent://a/b/" + "t" * 2000
    assert parse_topic(short) is parse_topic(short)
    assert parse_topic(long) is not parse_topic(long)


@pytest.mark.parametrize("name", ["a\n", "\n", "a b", "", "a/b"])
def test_an_entity_has_only_the_characters_of_pulsar_407(name: str) -> None:
    with pytest.raises(InvalidName, match="Tenant name is not valid"):
        NamespaceName.of(name, "ns")


def test_a_topic_may_have_any_local_name_as_in_pulsar_407() -> None:
    for local in ("..", ".", "a\n", "a\tb", "%2E"):
        assert parse_topic(f"persistent://public/default/{local}").local == local


@pytest.mark.parametrize(
    "text", ["a", "a/b/c", "persistent://a/b/..", "persistent://a/b/c\n", "persistent://a/c/b/d/e"]
)
def test_the_console_reads_names_as_the_broker_does(text: str) -> None:
    assert str(TopicName.parse(text)) == str(parse_topic(text))


@pytest.mark.parametrize("text", ["a/b", "a/b/c/d", "persistent://a", "persistent://a\n/b/c", "x://a/b/c", ""])
def test_the_console_refuses_what_the_broker_refuses(text: str) -> None:
    with pytest.raises(Refused, match="is not the name of a topic"):
        TopicName.parse(text)
