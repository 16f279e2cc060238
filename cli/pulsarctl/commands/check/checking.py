"""Measures what `check` compares with its limits. Changes nothing, except that `latency` publishes to its topic."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pulsarctl.client import certificates
from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.checks import Limits, Measurement
from pulsarctl.diagnosis.words import age, short
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts import broker as broker_facts
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.names import COMPACTION_CURSOR, full_topic
from pulsarctl.values.quantities import human_size

Subscriptions = dict[str, dict[str, Any]]


def backlog(call: Call, topic: str, only: str | None, limits: Limits) -> list[Measurement]:
    """The backlog in messages, or in entries if the broker counts no messages; the label `unit` says which."""
    return [
        Measurement(
            name,
            unacknowledged.count,
            "",
            f"{short(full_topic(topic))}/{name} has {unacknowledged.words}",
            limits,
            {"subscription": name, "unit": unacknowledged.unit},
        )
        for name, stats in _subscriptions(call, topic, only).items()
        for unacknowledged in [Backlog.of(stats)]
    ]


def oldest(call: Call, topic: str, only: str | None, limits: Limits) -> list[Measurement]:
    """The age of the oldest unacknowledged message. Raises `CliError` if the broker does not report it."""
    measurements = []
    for name, stats in _subscriptions(call, topic, only).items():
        published = int(stats.get("earliestMsgPublishTimeInBacklog") or 0)
        has_backlog = int(stats.get("msgBacklog") or 0) > 0
        if has_backlog and published <= 0:
            raise CliError(f"the broker does not report the age of the backlog of {name} (Pulsar 2.10 and later do)")
        old = max(0, now_ms() - published) if has_backlog else 0
        words = f"the oldest message of {short(full_topic(topic))}/{name} is {age(old)} old"
        measurements.append(Measurement(name, old / 1000, "s", words, limits, {"subscription": name}))
    return measurements


def throughput(call: Call, topic: str, direction: str, limits: Limits) -> list[Measurement]:
    """Messages per second, as the broker averages them (over about a minute)."""
    rate = round(float(_stats(call, topic).get(f"msgRate{direction.capitalize()}") or 0), 3)
    words = f"{short(full_topic(topic))} has {rate:,g} messages/s {direction}"
    return [Measurement(direction, rate, "", words, limits, {"direction": direction})]


def latency(call: Call, topic: str, count: int, timeout_seconds: float, limits: Limits) -> list[Measurement]:
    """The median of `count` round trips, after one that opens connections and is not counted."""
    from pulsarctl.client.latency_probe import LatencyProbe
    from pulsarctl.client.messaging import Messaging

    client = Messaging(call.settings, timeout_seconds)
    try:
        probe = LatencyProbe(client, full_topic(topic), timeout_seconds)
        probe.round_trip_seconds()
        seconds = median(probe.round_trip_seconds() for _ in range(count))
    finally:
        client.close()
    words = f"a message takes {seconds * 1000:.1f} ms from producer to reader"
    return [Measurement("latency", round(seconds, 6), "s", words, limits)]


def disk(call: Call, path: Path | None, limits: Limits) -> list[Measurement]:
    state = broker_facts.disk(call, path)
    if state is None:
        raise CliError("the broker does not report its disk; run the check on each bookie with --path DIR")
    used = round(state.used_percent, 2)
    words = f"{used:.0f}% of {state.place} is used, {human_size(state.free)} are free"
    if state.is_full:
        words = f"the broker refuses messages because its disk is full, although {human_size(state.free)} are free"
    return [Measurement("used", used, "%", words, limits)]


def certificate(call: Call, file: Path | None, timeout_seconds: float, limits: Limits) -> list[Measurement]:
    """The validity of a certificate in a file, or of each server that is reached with TLS."""
    if file is not None:
        return [_certificate(str(file), partial(certificates.stored, str(file)), limits)]
    addresses = [
        address
        for url in (call.settings.web_url, call.settings.service_url)
        for address in certificates.tls_addresses(url)
    ]
    if not addresses:
        raise CliError(f"neither {call.settings.web_url} nor {call.settings.service_url} uses TLS")
    return [
        _certificate(str(address), partial(certificates.served, address, timeout_seconds), limits)
        for address in addresses
    ]


def _certificate(place: str, read: Callable[[], Any], limits: Limits) -> Measurement:
    try:
        left = certificates.not_after_ms(read()) - now_ms()
    except (OSError, ValueError) as error:
        raise CliError(f"cannot read the certificate of {place}: {error}") from error
    words = f"the certificate of {place} " + (f"is valid for {age(left)}" if left > 0 else f"expired {age(-left)} ago")
    return Measurement(place, left // 1000, "s", words, limits, {"certificate": place})


def _subscriptions(call: Call, topic: str, only: str | None) -> Subscriptions:
    subscriptions: Subscriptions = _stats(call, topic).get("subscriptions") or {}
    if only is not None and only not in subscriptions:
        raise NotFound(f"there is no subscription '{only}' on {topic}")
    return {
        name: stats
        for name, stats in sorted(subscriptions.items())
        if only == name or (only is None and name != COMPACTION_CURSOR)
    }


def _stats(call: Call, topic: str) -> dict[str, Any]:
    """Summed over the partitions."""
    flags = {"subscriptionBacklogSize": True, "getEarliestTimeInBacklog": True}
    if call.admin.topics.partitions(topic):
        return call.admin.topics.partitioned_stats(topic, perPartition=False, **flags)
    return call.admin.topics.stats(topic, **flags)
