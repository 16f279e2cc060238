"""The admin API as the console in this process asks it: with the user's rights, and without a connection."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_core.admin.call import JSON_TYPE, Answer, Call
from broker_core.admin.guard import Guard
from broker_core.admin.results import result_of
from broker_core.admin.routes import Route, Routes
from broker_core.console.admin_api import NOTHING, Backlogs, Refused, Reply, Waiting
from broker_core.names import TopicName
from broker_core.rates.long_text import plain
from broker_core.rates.time_slices import sliced
from broker_core.security.authorization import Target
from broker_core.security.operations import on_topic
from broker_core.stats.subscription_stats import SubscriptionStats

if TYPE_CHECKING:
    from broker_core.topic.subscription import Subscription

_STATS = on_topic("GET_STATS")
_Found = tuple[int, str, str, "Subscription"]  # backlog, topic, and name: together they are unique


class OwnAdminApi:
    """Runs routes as the caller of a page. Each is authorized, and each change is audited, like a request over HTTP."""

    def __init__(self, call: Call, routes: Routes) -> None:
        self._call = call
        self._routes = routes
        self._guard = Guard(call.broker.security, ())

    async def ask(self, method: str, path: str, query: Mapping[str, str] = NOTHING, body: Any = None) -> Reply:
        """Answers as the route does; raises `Refused` if it does not answer with success."""
        match = self._routes.find(method, path)
        if isinstance(match, frozenset):
            raise Refused(404, f"this broker has no resource at {path}")
        data = b"" if body is None else json.dumps(body).encode()
        call = self._call._replace(parts=match.parts, query=query, body=data, pairs=list(query.items()))
        answer = await result_of(self._guarded(match.route, call), f"{method} {path}")
        if method != "GET":
            audit = self._call.broker.security.audit
            audit.changed(call.principal, f"{method} {path}", answer.status, call.client)
        return _reply(answer)

    async def _guarded(self, route: Route, call: Call) -> Answer | None:
        self._guard.check(route, call)
        result = await route.handler(call)
        return result if result is None or isinstance(result, Answer) else _Value(200, value=result)

    async def ask_all(self, paths: Sequence[str], query: Mapping[str, str] = NOTHING) -> Sequence[Reply | Refused]:
        replies: list[Reply | Refused] = []
        async for path in sliced(paths):
            try:
                replies.append(await self.ask("GET", path, query))
            except Refused as error:
                replies.append(error)
        return replies

    async def backlogs(self, namespace: str, most: int) -> Backlogs:
        """The largest backlogs of the loaded topics whose stats the user may read.

        They are chosen by their numbers of entries, because counting messages may read ledgers.
        """
        largest: list[_Found] = []
        subscriptions, topics = 0, set[str]()
        async for topic in sliced(list(self._call.broker.topics.loaded.values())):
            if namespace not in ("", str(topic.name.namespace)) or not self._may_read(topic.name):
                continue
            async for subscription in sliced(list(topic.subscriptions.by_name.values())):
                if backlog := subscription.cursor.backlog_entries:
                    subscriptions += 1
                    topics.add(str(topic.name))
                    heapq.heappush(largest, (backlog, str(topic.name), subscription.name, subscription))
                    if len(largest) > most:
                        heapq.heappop(largest)
        rows = [_waiting(topic, subscription) for _, topic, _, subscription in largest]
        rows.sort(key=lambda row: (-row.backlog, row.topic, row.subscription))
        return Backlogs(rows, subscriptions, len(topics), "Backlog (messages)")

    def _may_read(self, topic: TopicName) -> bool:
        return self._call.broker.security.decide(self._call.principal, _STATS, Target.of_topic(topic)).allowed


def _waiting(topic: str, subscription: Subscription) -> Waiting:
    stats = SubscriptionStats.of(subscription)
    consumers, rate = len(stats.consumers), stats.traffic.message_rate
    return Waiting(topic, stats.name, stats.backlog_messages, consumers, rate, stats.unacked_messages)


@dataclass(frozen=True, slots=True)
class _Value(Answer):
    """The result of a handler as it is. To encode 10,000 names as JSON and decode them would hold up messages."""

    value: Any = None


def _reply(answer: Answer) -> Reply:
    """Raises `Refused` for the answer to a request that failed."""
    if isinstance(answer, _Value):
        return Reply(plain(answer.value))
    is_json = answer.content_type == JSON_TYPE and bool(answer.body)
    value = json.loads(bytes(answer.body)) if is_json else None
    if answer.status >= 300:
        raise Refused(answer.status, str(value["reason"]) if isinstance(value, dict) else f"status {answer.status}")
    headers = {name.lower(): text for name, text in answer.headers}
    return Reply(value, b"" if is_json else bytes(answer.body), headers)
