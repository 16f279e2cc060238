"""What the console can change: a table of actions, the page that asks for confirmation, and the request that follows.

An action is shown, and accepted, only if the host switched actions on. It is one request of the admin API, with the
rights of the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.console.admin_api import ROOT, AdminApi, Refused, TopicName, namespace_path
from broker_core.console.markup import Html, address, link, tag
from broker_core.console.page import (
    Frame,
    Page,
    Request,
    facts,
    name_of,
    namespace_crumbs,
    page,
    see_other,
    subscription_crumbs,
    topic_crumbs,
)
from broker_core.console.paths import ACTION, HOME, SUBSCRIPTION, TOPIC, TOPICS

SECONDS_MAX = 10**10
COUNT_MAX = 10**9
_MESSAGE_ID = re.compile(r"(\d{1,18}):(\d{1,18})")
NAMES = ("namespace", "topic", "subscription")


@dataclass(frozen=True, slots=True)
class Field:
    """What an action asks for besides its target. `kind` is that of the input."""

    label: str
    default: str
    kind: str = "number"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Names as the form sends them; those that an action does not need are empty."""

    namespace: str
    topic: str
    subscription: str

    @classmethod
    def of(cls, sent: Mapping[str, str]) -> Target:
        return cls(*(sent.get(name, "") for name in NAMES))

    @property
    def path(self) -> str:
        """Raises `Refused` if a name is missing."""
        if self.subscription:
            return TopicName.parse(self.topic).subscription_path(self.subscription)
        if self.topic:
            return TopicName.parse(self.topic).path
        if self.namespace:
            return f"{ROOT}/namespaces/{namespace_path(self.namespace)}"
        raise Refused(400, "the action does not say what it acts on")

    @property
    def name(self) -> str:
        return self.subscription or self.topic or self.namespace

    @property
    def page(self) -> str:
        if self.subscription:
            return address(SUBSCRIPTION, topic=self.topic, name=self.subscription)
        return address(TOPIC, name=self.topic) if self.topic else address(TOPICS, namespace=self.namespace)

    @property
    def above(self) -> str:
        """Where to go when it is gone."""
        if self.subscription:
            return address(TOPIC, name=self.topic)
        return address(TOPICS, namespace=TopicName.parse(self.topic).namespace) if self.topic else HOME


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request of an action, after the path of its target."""

    method: str
    end: str
    body: Any = None


@dataclass(frozen=True, slots=True)
class Action:
    """`on`: the pages that offer it. `types_name`: the user has to type the target's name. `request` gets the field."""

    name: str
    label: str
    says: str
    on: tuple[str, ...]
    request: Callable[[str], Outgoing]
    field: Field | None = None
    types_name: bool = False
    removes: bool = False


def _plain(method: str, end: str) -> Callable[[str], Outgoing]:
    return lambda _: Outgoing(method, end)


def _number(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise Refused(400, f"{text[:60]!r} is not a number from 1 to {most:,}")
    return int(text)


def _counted(end: str, most: int) -> Callable[[str], Outgoing]:
    return lambda text: Outgoing("POST", f"{end}/{_number(text, most)}")


def _reset(text: str) -> Outgoing:
    """To a message, or to one of the ends."""
    ends = {"earliest": (-1, -1), "latest": (2**63 - 1, 2**63 - 1)}
    found = _MESSAGE_ID.fullmatch(text.strip())
    if found is None and text.strip() not in ends:
        raise Refused(400, f"{text[:60]!r} is neither earliest, latest, nor a message ID such as 12:7")
    ledger, entry = ends[text.strip()] if found is None else (int(found[1]), int(found[2]))
    body = {"ledgerId": ledger, "entryId": entry, "partitionIndex": -1, "batchIndex": -1, "excluded": False}
    return Outgoing("POST", "/resetcursor", body)


_ALL_SUBSCRIPTIONS = ("subscription", "partitioned subscription")
_ALL_TOPICS = ("topic", "partitioned")
_AGE = Field("Older than (seconds)", "3600")

ACTIONS = (
    Action(
        "skip",
        "Skip messages",
        "Marks the next messages as acknowledged. The subscription never gets them.",
        ("subscription",),
        _counted("/skip", COUNT_MAX),
        Field("Number of messages", "1"),
    ),
    Action(
        "clear-backlog",
        "Clear backlog",
        "Marks all messages as acknowledged. The subscription never gets them.",
        _ALL_SUBSCRIPTIONS,
        _plain("POST", "/skip_all"),
    ),
    Action(
        "reset-cursor",
        "Reset cursor",
        "Moves the subscription to a message. It gets that message and all later ones, again if it had them.",
        ("subscription",),
        _reset,
        Field("Position", "earliest", "text", "earliest, latest, or a message ID such as 12:7"),
    ),
    Action(
        "expire",
        "Expire messages",
        "Marks the messages of a minimum age as acknowledged. The subscription never gets them.",
        _ALL_SUBSCRIPTIONS,
        _counted("/expireMessages", SECONDS_MAX),
        _AGE,
    ),
    Action(
        "unsubscribe",
        "Delete subscription",
        "Deletes the subscription and its backlog. It must have no consumers.",
        _ALL_SUBSCRIPTIONS,
        _plain("DELETE", ""),
        types_name=True,
        removes=True,
    ),
    Action(
        "unload",
        "Unload",
        "Closes the topic and its connections. Clients reconnect at once, and the topic is opened again.",
        _ALL_TOPICS,
        _plain("PUT", "/unload"),
    ),
    Action(
        "compact",
        "Compact",
        "Starts a compaction: readers of the compacted topic get only the last message of each key.",
        _ALL_TOPICS,
        _plain("PUT", "/compaction"),
    ),
    Action(
        "expire-all",
        "Expire messages of all subscriptions",
        "Marks the messages of a minimum age as acknowledged for every subscription.",
        _ALL_TOPICS,
        _counted("/all_subscription/expireMessages", SECONDS_MAX),
        _AGE,
    ),
    Action(
        "delete",
        "Delete topic",
        "Deletes the topic, its subscriptions, and its messages. It must have no producers and no consumers.",
        ("topic",),
        _plain("DELETE", ""),
        types_name=True,
        removes=True,
    ),
    Action(
        "delete-partitioned",
        "Delete topic",
        "Deletes the topic with all its partitions and messages. It must have no producers and no consumers.",
        ("partitioned",),
        _plain("DELETE", "/partitions"),
        types_name=True,
        removes=True,
    ),
    Action(
        "unload-namespace",
        "Unload",
        "Closes all topics of the namespace. Clients reconnect at once, and the topics are opened again.",
        ("namespace",),
        _plain("PUT", "/unload"),
    ),
    Action(
        "clear-namespace-backlog",
        "Clear all backlogs",
        "Marks all messages of all topics of the namespace as acknowledged, for every subscription.",
        ("namespace",),
        _plain("POST", "/clearBacklog"),
        types_name=True,
    ),
)
BY_NAME = {one.name: one for one in ACTIONS}


def offered(frame: Frame, kind: str, **target: str) -> Html | None:
    """The actions of a page."""
    if not frame.actions:
        return None
    links = [
        tag("li", link(address(ACTION, do=one.name, **target), f"{one.label}…")) for one in ACTIONS if kind in one.on
    ]
    return tag("section", tag("h2", "Actions"), tag("ul", links, class_="actions"))


def done(request: Request) -> Html | None:
    """What the page says after an action."""
    found = BY_NAME.get(request.query.get("done", ""))
    return None if found is None else tag("p", f"{found.label}: done.", role="status", class_="done")


def _found(frame: Frame, name: str) -> Action:
    if not frame.actions:
        raise Refused(403, "the console is read-only: start it with --console-actions to change something here")
    if name not in BY_NAME:
        raise Refused(404, f"the console has no action {name[:60]!r}")
    return BY_NAME[name]


async def confirm(frame: Frame, request: Request, api: AdminApi) -> Page:
    return _asked(frame, _found(frame, request.query.get("do", "")), Target.of(request.query), "", "")


async def perform(frame: Frame, request: Request, api: AdminApi) -> Page:
    """Does it and goes back to the page of its target, or asks again and says what is wrong."""
    action, target = _found(frame, request.form.get("do", "")), Target.of(request.form)
    value = request.form.get("value", "")
    try:
        if action.types_name and request.form.get("typed", "") != target.name:
            raise Refused(400, "the name that you typed is another one")
        sent = action.request(value)
        await api.ask(sent.method, f"{target.path}{sent.end}", body=sent.body)
    except Refused as error:
        return _asked(frame, action, target, value, str(error), error.status)
    where = target.above if action.removes else target.page
    return see_other(f"{where}{'&' if '?' in where else '?'}done={action.name}")


def _asked(frame: Frame, action: Action, target: Target, value: str, problem: str, status: int = 200) -> Page:
    names = [(name.capitalize(), getattr(target, name)) for name in NAMES if getattr(target, name)]
    hidden = [tag("input", type="hidden", name=name, value=getattr(target, name)) for name in NAMES]
    form = tag(
        "form",
        tag("input", type="hidden", name="do", value=action.name),
        hidden,
        _input(action.field, value) if action.field else None,
        _typed(target) if action.types_name else None,
        tag("button", action.label, type="submit", class_="danger"),
        " ",
        link(target.page, "Cancel"),
        action=ACTION,
        method="post",
        class_="confirm",
    )
    what = facts((name, tag("code", name_of(text))) for name, text in names)
    alert = tag("p", f"Cannot do that: {problem}", role="alert", class_="problem") if problem else None
    return page(frame, action.label, _crumbs(target), alert, tag("p", action.says), what, form, status=status)


def _crumbs(target: Target) -> list[tuple[str, str]]:
    if not target.topic:
        return [*namespace_crumbs(target.namespace), (target.namespace, target.page)]
    topic = TopicName.parse(target.topic)
    if not target.subscription:
        return [*topic_crumbs(topic), (topic.local, target.page)]
    return [*subscription_crumbs(topic), (target.subscription, target.page)]


def _input(field: Field, value: str) -> Html:
    hint = tag("small", field.hint, id="hint") if field.hint else None
    entry = tag(
        "input",
        id="value",
        name="value",
        type=field.kind,
        value=value or field.default,
        required=True,
        min="1" if field.kind == "number" else None,
        aria_describedby="hint" if field.hint else None,
        autocomplete="off",
    )
    return tag("p", tag("label", field.label, for_="value"), entry, hint)


def _typed(target: Target) -> Html:
    entry = tag("input", id="typed", name="typed", type="text", required=True, autocomplete="off", spellcheck="false")
    return tag("p", tag("label", "To confirm, type ", tag("code", name_of(target.name)), for_="typed"), entry)
