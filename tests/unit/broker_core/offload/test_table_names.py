"""Each topic has a table of its own: the name says which topic it is."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_core.names import TopicName, ledger_name, parse_topic
from broker_core.offload.table_names import table_name
from broker_core.offload.tables import table_of

ESCAPE = re.compile(r"_x([0-9A-F]{2,6})_")
PARTS = st.text("ab_x25FDF-=:.é", min_size=1, max_size=8)
TOPICS = st.builds(
    lambda tenant, namespace, local: TopicName("persistent", tenant, "/".join(namespace), local, -1),
    PARTS,
    st.lists(PARTS, min_size=1, max_size=2),
    st.text("ab_x25FDF-/%é \U0001f600", min_size=1, max_size=8),
)


def unescaped(name: str) -> str:
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)


def topic_of(names: tuple[str, str]) -> tuple[str, str, str]:
    """Reads tenant, namespace, and topic from the names of a table."""
    tenant = re.match(r"(?:[0-9A-Za-z]|_x[0-9A-F]{2,6}_)+", names[0])
    assert tenant is not None
    return unescaped(tenant[0]), unescaped(names[0][tenant.end() + 1 :]), unescaped(names[1])


@given(TOPICS)
@example(TopicName("persistent", "a", "x2D_b", "t", -1))
@example(TopicName("persistent", "a", "_x2D_b", "_x2D-", -1))
def test_a_table_name_says_tenant_namespace_and_topic(topic: TopicName) -> None:
    assert topic_of(table_name(topic)) == (topic.tenant, topic.namespace_local, topic.local)


@given(TOPICS)
def test_a_table_name_needs_no_quotes(topic: TopicName) -> None:
    assert all(re.fullmatch(r"[0-9A-Za-z_]+", name) for name in table_name(topic))


@given(st.sets(st.text("a-é", min_size=150, max_size=400), min_size=2, max_size=5))
def test_long_names_are_cut_and_stay_apart(names: set[str]) -> None:
    made = {table_name(parse_topic(f"persistent://t/n/{name}"))[1] for name in names}
    assert len(made) == len(names)
    assert max(map(len, made)) <= 200


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("persistent://public/default/orders", "public_default.orders"),
        ("persistent://public/default/orders_2025", "public_default.orders_2025"),
        ("persistent://a/b_c/x", "a_b_c.x"),
        ("persistent://a_b/c/x", "a_x5F_b_c.x"),
        ("persistent://shop/eu-west/line-items", "shop_eu_x2D_west.line_x2D_items"),
        ("persistent://a/us/b/x", "a_us_x2F_b.x"),
        ("persistent://a/us/c/x", "a_us_x2F_c.x"),
        ("persistent://a/b/x-partition-3", "a_b.x"),
    ],
)
def test_a_copy_records_the_name_of_its_topics_table(topic: str, name: str) -> None:
    found = table_of("i", ledger_name(parse_topic(topic)), "sqlite:///c")
    assert found == {"catalog": "sqlite:///c", "name": name, "folder": f"i-tables/{name.replace('.', '/')}"}
