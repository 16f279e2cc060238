"""Verbs that act on a subscription of several topics at once; shared by the nouns `topics` and `subscriptions`."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import Conflict, UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.targets import cursors
from pulsarctl.targets.many import Targets, act_on, shown

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

TopicsAndSubscription = Annotated[
    list[str] | None,
    typer.Argument(metavar="TOPIC", help="Names of the topics. Without -s, one topic and then its subscription."),
]


def topics_and_subscription(words: list[str] | None, option: str | None) -> tuple[list[str], str]:
    """The topics and the subscription of a command line. Raises `UsageProblem`."""
    names = list(words or [])
    if option is not None:
        return names, option
    if len(names) == 2:
        return names[:1], names[1]
    hint = "specify it after the topic, or with -s" if len(names) == 1 else "specify it with -s"
    raise UsageProblem("no subscription given", hint=hint)


def delete(call: Call, names: Targets, subscription: str, *, force: bool, yes: bool, parallel: int, verb: str) -> None:
    if names:
        call.confirm(f"Delete subscription {subscription} of {shown(names)}?", yes=yes, several=names.several)
        act_on(
            call,
            names,
            lambda admin, topic: admin.topics.delete_subscription(topic, subscription, force=force),
            verb=verb,
            parallel=parallel,
        )


def clear_backlogs(call: Call, names: Targets, subscription: str, *, yes: bool, parallel: int) -> None:
    if names:
        call.confirm(f"Clear the backlog of {subscription} in {shown(names)}?", yes=yes, several=names.several)
        act_on(
            call,
            names,
            lambda admin, topic: admin.topics.clear_backlog(topic, subscription),
            verb="clear the backlog of",
            parallel=parallel,
        )


def skip(call: Call, names: Targets, subscription: str, count: int, *, yes: bool, parallel: int) -> None:
    if names:
        if names.several:
            question = f"Skip {count} messages of {subscription} in {shown(names)}?"
            call.confirm(question, yes=yes, several=True)
        act_on(
            call,
            names,
            lambda admin, topic: admin.topics.skip(topic, subscription, count),
            verb="skip messages of",
            parallel=parallel,
        )


def expire(
    call: Call,
    names: Targets,
    subscription: str,
    time: str | None,
    position: str | None,
    *,
    excluded: bool,
    yes: bool,
    parallel: int,
) -> None:
    """Acknowledges messages older than a duration or up to a position. Raises `UsageProblem`."""
    if position is not None and names.several:
        raise UsageProblem("a position belongs to one topic", hint="use -t DURATION for several topics")
    act = cursors.expiry(subscription, time, position, excluded)
    if names:
        if names.several:
            call.confirm(f"Acknowledge old messages of {subscription} in {shown(names)}?", yes=yes, several=True)
        expire_each(call, names, act, parallel)


def expire_each(call: Call, names: Targets, act: "Callable[[AdminClient, str], None]", parallel: int) -> None:
    """Passes over what has nothing to expire, unless it is named."""

    def unless_caught_up(admin: "AdminClient", topic: str) -> None:
        with suppress(Conflict):  # Pulsar's answer if there is nothing to expire, or it is being expired
            act(admin, topic)

    act_on(call, names, unless_caught_up if names.discovered else act, verb="expire messages of", parallel=parallel)


def seek(
    call: Call,
    names: Targets,
    subscription: str,
    time: str | None,
    message_id: str | None,
    *,
    excluded: bool = False,
    yes: bool,
    parallel: int,
    verb: str = "seek",
) -> None:
    """Moves a subscription, and says to which time. Raises `UsageProblem`."""
    reset = cursors.resetting(subscription, time, message_id, excluded)
    if not names:
        return
    if names.several:
        call.confirm(f"Move {subscription} of {shown(names)}?", yes=yes, several=True)

    def act(admin: "AdminClient", topic: str) -> tuple[str, int | None]:
        return topic, reset(admin, topic)

    moved = act_on(call, names, act, verb=verb, parallel=parallel)
    topic, time_ms = moved[0] if moved else ("", None)
    if time_ms is not None:
        where = topic if len(moved) == 1 else f"{len(moved):,} topics"
        call.notice_time(f"subscription {subscription} of {where} moved to", time_ms)
