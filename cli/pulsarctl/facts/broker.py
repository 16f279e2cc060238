"""The state of a broker: whether it answers, its versions, its clock, and its disk."""

import platform
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path

from pulsarctl import __version__
from pulsarctl.admin.client import AdminClient
from pulsarctl.client.reachability import check_answers
from pulsarctl.diagnosis.checkup.broker_rules import Disk, Port, Versions
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts.client import version_of
from pulsarctl.facts.topic import is_ours
from pulsarctl.settings.addresses import Address, service_addresses
from pulsarctl.settings.settings import Settings
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms

VERSION_PATH = "/admin/v2/brokers/version"
PROBE = "pulsarctl-doctor"  # a topic that a lookup does not create
TICK_MS = 1000  # of the Date header
FREE, SIZE, FULL = "pulsarctl_storage_free_bytes", "pulsarctl_storage_size_bytes", "pulsarctl_storage_full"


def ports(call: Call, timeout_seconds: float) -> list[Port]:
    return [
        _port("admin-API", call.settings.web_url, lambda: call.admin.http.get(VERSION_PATH)),
        _port("broker", call.settings.service_url, lambda: check_answers(call.settings, timeout_seconds)),
    ]


def owners(settings: Settings, namespace: str, timeout_seconds: float) -> tuple[str, str] | None:
    """HOST:PORT of the broker of one topic, by the admin API and by the service URL; None if they cannot be asked.

    It is "" where the namespace is unknown.
    """
    topic, settings = f"persistent://{namespace}/{PROBE}", replace(settings, request_timeout_seconds=timeout_seconds)
    try:
        by_admin = _known(lambda: _owner_by_admin(settings, topic))
        by_broker = _known(lambda: _owner_by_broker(settings, topic, timeout_seconds))
    except (CliError, KeyError):
        return None
    return (by_admin, by_broker) if by_admin or by_broker else None


def _known(owner: Callable[[], Address]) -> str:
    try:
        address = owner()
    except NotFound:
        return ""
    return f"{address.host}:{address.port}"


def _owner_by_admin(settings: Settings, topic: str) -> Address:
    is_tls = settings.service_url.startswith(("pulsar+ssl", "https"))
    with closing(AdminClient(settings)) as admin:
        return service_addresses(admin.topics.lookup(topic)["brokerUrlTls" if is_tls else "brokerUrl"])[0]


def _owner_by_broker(settings: Settings, topic: str, timeout_seconds: float) -> Address:
    from pulsarctl.raw.topic_lookup import TopicLookup

    lookup = TopicLookup(settings.service_url, timeout_seconds=timeout_seconds, security=settings)
    with closing(lookup):
        return lookup.owner(topic)


def health(call: Call) -> str:
    try:
        return call.admin.brokers.healthcheck()
    except CliError as error:
        return error.message


def versions(call: Call) -> Versions:
    try:
        broker = call.admin.brokers.version()
    except CliError:
        broker = ""
    client = version_of("pulsar-client") or "unknown"
    return Versions(__version__, platform.python_version(), client, broker, is_ours(call))


def clock_skew_ms(call: Call) -> int | None:
    """How far the broker's clock is ahead, in whole seconds. None if the answer has no time."""
    before = now_ms()
    _body, headers = call.admin.http.get_bytes(VERSION_PATH)
    after = now_ms()
    try:
        second = round(parsedate_to_datetime(str(headers["Date"])).timestamp() * 1000)
    except ValueError:
        return None
    if second > after:
        return second - after
    return min(0, second + TICK_MS - before)


def disk(call: Call, directory: Path | None = None) -> Disk | None:
    """The disk of a directory on this machine, or of the broker; None if the broker does not report it."""
    if directory is not None:
        try:
            usage = shutil.disk_usage(directory)
        except OSError as error:
            raise CliError(f"cannot read the disk usage of {directory}: {error.strerror}") from error
        return Disk(f"the disk of {directory}", usage.free, usage.total)
    gauges = _gauges(metrics(call), (FREE, SIZE, FULL))
    if FREE not in gauges or SIZE not in gauges:
        return None
    return Disk("the broker's disk", round(gauges[FREE]), round(gauges[SIZE]), is_full=gauges.get(FULL) == 1)


def metrics(call: Call) -> str:
    """The broker's metrics. Apache Pulsar redirects to the path with a slash."""
    body, _headers = call.admin.http.get_bytes("/metrics/")
    return body.decode("utf-8", "replace")


def _gauges(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """The value of each metric that has one sample."""
    pattern = re.compile(rf"^({'|'.join(names)})(?:\{{[^}}]*\}})? (\S+)", re.MULTILINE)
    return {name: float(value) for name, value in pattern.findall(text)}


def _port(name: str, url: str, ask: Callable[[], object]) -> Port:
    try:
        ask()
    except CliError as error:
        step = error.hint if error.hint and error.hint.startswith("pulsarctl ") else ""
        return Port(name, url, error.message, step)
    return Port(name, url)
