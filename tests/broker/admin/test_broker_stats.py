"""broker-stats: topics in four levels, the load report, and metrics as JSON."""

from urllib.parse import quote

from tests.broker.admin.conftest import Admin

FULL = "persistent://acme/shop/plain"


async def test_topics_are_shown_by_namespace_bundle_and_domain(shop: Admin) -> None:
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    await shop.publish(FULL, [b"1"])
    bundle = (await shop("GET", "/lookup/v2/topic/persistent/acme/shop/plain/bundle")).text
    for path in ("topics", "destinations"):
        found = (await shop("GET", f"broker-stats/{path}")).json["acme/shop"][bundle]["persistent"][FULL]
        assert found["subscriptions"]["s"]["msgBacklog"] == 1
        assert found["publishers"] == [] and found["replication"] == {}
        assert found["subscriptions"]["s"]["consumers"] == []


async def test_a_topic_of_a_namespace_that_exists_by_use_is_shown(admin: Admin) -> None:
    await admin.publish("persistent://public/standalone/old/t", [b"1"])
    assert "public/standalone/old" in (await admin("GET", "broker-stats/topics")).json
    assert (await admin("GET", "broker-stats/load-report")).json["numTopics"] == 1


async def test_the_load_report_counts_what_is_loaded(shop: Admin) -> None:
    await shop.publish(FULL, [b"1"])
    bundle = (await shop("GET", "/lookup/v2/topic/persistent/acme/shop/plain/bundle")).text
    report = (await shop("GET", "broker-stats/load-report")).json
    assert report["loadReportType"] == "LocalBrokerData"
    assert report["webServiceUrl"] == shop.broker.http_url
    assert (report["numTopics"], report["numBundles"]) == (1, 1)
    assert report["bundles"] == [f"acme/shop/{bundle}"]
    assert report["lastStats"][f"acme/shop/{bundle}"]["topics"] == 1
    assert report["cpu"]["limit"] > 0 and report["memory"]["usage"] > 0


async def test_metrics_are_grouped_by_their_labels(shop: Admin) -> None:
    await shop.publish(FULL, [b"1"])
    found = (await shop("GET", "broker-stats/metrics")).json
    [of_topic] = [one for one in found if one["dimensions"].get("topic") == FULL]
    assert of_topic["dimensions"] == {"cluster": "standalone", "namespace": "acme/shop", "topic": FULL}
    assert of_topic["metrics"]["pulsar_storage_size"] > 0


async def test_labels_of_metrics_are_the_names_as_they_are(shop: Admin) -> None:
    name = 'a",b\\n="c'
    await shop("PUT", f"persistent/acme/shop/plain/subscription/{quote(name, safe='')}")
    found = (await shop("GET", "broker-stats/metrics")).json
    assert name in [one["dimensions"].get("subscription") for one in found]


async def test_the_process_is_shown_as_beans(admin: Admin) -> None:
    found = (await admin("GET", "broker-stats/mbeans")).json
    beans = {one["dimensions"]["MBean"] for one in found}
    assert beans == {"java.lang:type=Runtime", "java.lang:type=OperatingSystem"}


async def test_what_only_a_cluster_of_java_brokers_has_is_empty_or_refused(shop: Admin) -> None:
    assert (await shop("GET", "broker-stats/allocator-stats/default")).json["directArenas"] == []
    reply = await shop("GET", "broker-stats/allocator-stats/nope")
    assert (reply.status, reply.reason) == (406, "Invalid allocator name : nope")
    await shop.publish(FULL, [b"1"])
    operations = (await shop("GET", "broker-stats/bookieops")).json["acme/shop"][FULL]
    assert set(operations.values()) == {0} and len(operations) == 8
    reply = await shop("GET", "broker-stats/broker-resource-availability/acme/shop")
    assert reply.status == 409 and reply.reason
