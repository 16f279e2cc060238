"""The admin API of a cluster as the console asks it: in a few threads, each with a connection of its own."""

import asyncio
import heapq
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from broker_core.console.admin_api import NOTHING, ROOT, Backlogs, Refused, Reply, Waiting
from broker_core.console.backlog import backlog_of, heading
from pulsarctl.admin.http import AdminHttp
from pulsarctl.errors import CliError
from pulsarctl.settings.settings import Settings
from pulsarctl.values.json_text import parse_json

THREADS = 6
UNREACHABLE = 502  # the status of a page whose request got no answer


class RemoteAdminApi:
    """Requests with the credentials of `settings`. To be closed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(THREADS, "console")
        self._own = threading.local()
        self._opened: list[AdminHttp] = []

    def close(self) -> None:
        """Waits for running requests, which have the deadline of the settings."""
        self._threads.shutdown(cancel_futures=True)
        for one in self._opened:
            one.close()

    async def ask(self, method: str, path: str, query: Mapping[str, str] = NOTHING, body: Any = None) -> Reply:
        """Raises `Refused`."""
        work = partial(self._send, method, path, dict(query), body)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def ask_all(self, paths: Sequence[str], query: Mapping[str, str] = NOTHING) -> Sequence[Reply | Refused]:
        return await asyncio.gather(*(self._answer(path, query) for path in paths))

    async def _answer(self, path: str, query: Mapping[str, str]) -> Reply | Refused:
        try:
            return await self.ask("GET", path, query)
        except Refused as error:
            return error

    async def backlogs(self, namespace: str, most: int) -> Backlogs:
        """Asks once, and gets the backlogs of the topics that this broker serves."""
        found = (await self.ask("GET", f"{ROOT}/broker-stats/topics")).value
        return await asyncio.to_thread(_largest, found, namespace, most)

    def _send(self, method: str, path: str, query: dict[str, Any], body: Any) -> Reply:
        http = self._http()
        try:
            if method != "GET":
                return Reply(http.request(method, path, body=body, query=query))
            content, headers = http.get_bytes(path, **query)
        except CliError as error:
            raise Refused(error.status or UNREACHABLE, error.reason or error.message) from error
        described = {name.lower(): text for name, text in headers.items()}
        if any(name.startswith("x-pulsar-") for name in described):
            return Reply(None, content, described)
        return Reply(_value(content))

    def _http(self) -> AdminHttp:
        if not hasattr(self._own, "http"):
            self._own.http = AdminHttp(self._settings)
            self._opened.append(self._own.http)
        found: AdminHttp = self._own.http
        return found


def _value(content: bytes) -> Any:
    try:
        return parse_json(content) if content else None
    except ValueError:
        return content.decode(errors="replace")


def _largest(found: Any, namespace: str, most: int) -> Backlogs:
    stats = list(_stats(found))
    waiting = (one for topic, each in stats for one in _of_topic(topic, each))
    rows = [one for one in waiting if namespace in ("", _namespace_of(one.topic))]
    largest = heapq.nlargest(most, rows, key=lambda one: (one.backlog, one.topic, one.subscription))
    return Backlogs(largest, len(rows), len({one.topic for one in rows}), heading(one for _, one in stats))


def _namespace_of(topic: str) -> str:
    return topic.partition("://")[2].rpartition("/")[0]


def _stats(found: Any) -> Iterator[tuple[str, Any]]:
    """Topics with their statistics, out of four levels: namespace, bundle, domain, and topic."""
    for bundles in _values(found):
        for domains in _values(bundles):
            for topics in _values(domains):
                yield from topics.items() if isinstance(topics, dict) else ()


def _values(found: Any) -> list[Any]:
    return list(found.values()) if isinstance(found, dict) else []


def _of_topic(topic: str, stats: Any) -> Iterator[Waiting]:
    for name, one in (stats.get("subscriptions") or {}).items():
        if backlog := int(backlog_of(one)):
            consumers, rate = len(one.get("consumers") or []), float(one.get("msgRateOut") or 0)
            yield Waiting(topic, name, backlog, consumers, rate, int(one.get("unackedMessages") or 0))
