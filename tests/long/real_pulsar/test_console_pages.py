"""The pages of `pulsarctl console` in front of Apache Pulsar, which counts entries and repeats the last one."""

import re
from collections.abc import Iterator

import pulsar
import pytest

from tests.cli.console.running import console
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.clusters import admin
from tests.support.console_browser import Browser

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(300)]

SINGLE = "persistent://public/default/console-single"
PARTED = "persistent://public/default/console-parted"


@pytest.fixture(scope="module")
def browser(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    admin(java_pulsar.http_url, "PUT", f"{PARTED.replace('://', '/')}/partitions", 2)
    client = pulsar.Client(java_pulsar.service_url)
    for topic, source in ((SINGLE, SINGLE), (PARTED, f"{PARTED}-partition-1")):
        client.subscribe(topic, "s").close()
        producer = client.create_producer(source, batching_enabled=True, batching_max_publish_delay_ms=10_000)
        for number in range(2):
            producer.send_async(b"order %d." % number, None)
        producer.flush()
    client.close()
    with console(tmp_path_factory.mktemp("home"), "--admin-url", java_pulsar.http_url) as address:
        found = Browser(int(address.partition("localhost:")[2].partition("/")[0]))
        found.get(f"/{address.split('/', 3)[3]}")
        yield found


@pytest.mark.parametrize("subscription", ["", "s"])
@pytest.mark.parametrize(("topic", "partition"), [(SINGLE, ""), (PARTED, "1")])
def test_a_batch_is_one_entry_on_one_page(browser: Browser, topic: str, partition: str, subscription: str) -> None:
    shown = browser.get("/console/messages", topic=topic, subscription=subscription, partition=partition)
    assert re.findall(r"order \d\.", shown.outline.text) == ["order 0.", "order 1."]
    assert "Later" not in shown.outline.text


@pytest.mark.parametrize("subscription", ["", "s"])
def test_a_partition_without_messages_has_an_empty_page(browser: Browser, subscription: str) -> None:
    shown = browser.get("/console/messages", topic=PARTED, subscription=subscription, partition="0")
    assert (shown.status, "There are no messages here." in shown.outline.text) == (200, True)


def test_what_follows_the_last_entry_has_an_empty_page(browser: Browser) -> None:
    shown = browser.get("/console/messages", **{"topic": SINGLE, "from": "11"})
    assert "There are no more messages." in shown.outline.text


def test_a_backlog_counts_entries_where_the_cluster_does(browser: Browser) -> None:
    for page in (f"/console/topic?name={SINGLE}", "/console/topics?namespace=public/default"):
        text = browser.get(page).outline.text
        assert "Backlog (entries)" in text and "Backlog (messages)" not in text
    assert "Backlog (messages)" not in browser.get("/console/backlogs").outline.text
