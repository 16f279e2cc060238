"""`ops offload` and `ops restore`: tiered storage from end to end."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from pulsarctl.admin.parts import part_names, parts_in
from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem
from pulsarctl.shell.broker_tasks import POLL_FIRST_SECONDS, POLL_MAX_SECONDS, raise_if_failed, wait_for
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import monotonic, pause
from pulsarctl.values.message_ids import LATEST
from pulsarctl.values.names import is_scalable, readable_topic
from pulsarctl.values.quantities import human_size, parse_duration
from pulsarctl.values.stores import offload_settings

Target = Annotated[
    str,
    typer.Argument(metavar="TOPIC|NAMESPACE", help="Name of a topic, or of a namespace for all its persistent topics."),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="URI", help="Store: file:///DIRECTORY, s3://BUCKET/PREFIX, gs://..., or az://..."),
]
T = TypeVar("T")
Policy = dict[str, Any]
UNAVAILABLE = 503  # also for a request that took too long, which may still be running
UNLOADED = ("; try again", ": try again")  # what the broker says of a topic that comes back
INTERRUPTIONS_MAX = 10  # in a row, about 8 seconds
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait.")]


def install_tiered(noun: Noun) -> None:
    noun.verb("offload")(offload)
    noun.verb("restore")(restore)


def offload(call: Call, target: Target, to: To = None, timeout: Timeout = "1h") -> None:
    """Copy all sealed ledgers to tiered storage, and wait until the copies are verified.

    With --to, the store becomes the offload policy of the topic or namespace, so thresholds use it from then on, too.
    If it takes nothing because of an error, the old policy stays. Ledgers that another store has stay there. Local
    files stay until the deletion lag has passed. The ledger that takes messages stays local.

    Example: pulsarctl ops offload shop/eu/orders --to file:///var/lib/offload
    """
    settings = None if to is None else _store(target, to)
    deadline = monotonic() + parse_duration(timeout)
    topics = _parts(call, target)
    before = {topic: _offloaded_ledgers(call, topic) for topic in topics}
    old = None if settings is None else _set_store(call, target, settings)
    try:
        _offload_all(call, topics, deadline, timeout)
    except CliError as error:
        if old is not None and not _may_have_taken(call, error, before):
            _put_back(call, target, old)
        raise
    rows = [_offloaded(call, topic, before[topic]) for topic in topics]
    if to is not None and not any(row["copied"] for row in rows):
        call.notice(f"nothing was written to {to} yet: {_why_nothing(any(before.values()))}")
    call.show(rows)


def _store(target: str, to: str) -> dict[str, str]:
    """The settings of an offload policy. Raises `UsageProblem`."""
    settings = offload_settings(to)
    if is_scalable(target):
        raise UsageProblem(
            f"cannot set the store of {target}: a scalable topic has the offload policy of its namespace",
            hint="name the namespace with --to, or omit --to",
        )
    return settings


def _offload_all(call: Call, topics: list[str], deadline: float, timeout: str) -> None:
    for topic in topics:
        call.admin.topics.offload(topic, LATEST)
    for topic in topics:
        status = wait_for("offload", topic, call.admin.topics.offload_status, deadline, timeout)
        raise_if_failed("offload", topic, status)


def _why_nothing(had_copies: bool) -> str:
    if had_copies:
        return "every sealed ledger was offloaded before, and stays where it is"
    return "there is no sealed ledger, so whether the store can be written is not known"


def _set_store(call: Call, target: str, settings: dict[str, str]) -> Policy:
    """Thresholds and the lag of the policy stay as they are. Returns the old policy."""
    client = _policies(call, target)
    known: Policy = client.policy(target, "offloadPolicies") or {}
    kept = {key: value for key, value in known.items() if not isinstance(value, str) or "Priority" in key}
    client.set_policy(target, "offloadPolicies", {**kept, **settings})
    return known


def _may_have_taken(call: Call, error: CliError, before: dict[str, set[int]]) -> bool:
    """Whether the new store has a copy, or may get one from an offload that is still running."""
    if isinstance(error, TimedOut | CannotConnect):
        return True
    return any(
        call.admin.topics.offload_status(topic).running or _offloaded_ledgers(call, topic) - copies
        for topic, copies in before.items()
    )


def _put_back(call: Call, target: str, old: Policy) -> None:
    client = _policies(call, target)
    if old:
        client.set_policy(target, "offloadPolicies", old)
    else:
        client.remove_policy(target, "removeOffloadPolicies" if _is_namespace(target) else "offloadPolicies")
    call.notice(f"the offload policy of {target} is as before")


def _policies(call: Call, target: str) -> Any:
    """The client of topics or of namespaces; both take policies in the same way."""
    return call.admin.namespaces if _is_namespace(target) else call.admin.topics


def _offloaded(call: Call, topic: str, before: set[int]) -> dict[str, Any]:
    """`before`: the ledgers that were offloaded when the command began."""
    ledgers = _ledgers(call, topic)
    done = {each: ledger for each, ledger in ledgers.items() if ledger.get("offloaded")}
    size = human_size(sum(int(ledger["size"]) for ledger in done.values()))
    return {"topic": topic, "ledgers": len(done), "of": len(ledgers), "size": size, "copied": len(done.keys() - before)}


def restore(call: Call, target: Target) -> None:
    """Write the local files of offloaded ledgers again, and remove the copies.

    A threshold that is still set offloads them again; remove the offload policy first. The command continues after an
    unload of the topic.

    Example: pulsarctl ops restore shop/eu/orders
    """
    call.show([{"topic": name, "ledgers": _restored(call, name)} for name in _parts(call, target)])


def _restored(call: Call, topic: str) -> int:
    """One request restores some ledgers: with all of them, it could take longer than the broker lets requests take.

    An unload ends a request, which does not say how many ledgers it restored.
    """
    before = _through_unloads(call, lambda: _offloaded_ledgers(call, topic))
    while _through_unloads(call, lambda: call.admin.topics.restore(topic)[topic]):
        pass
    return len(before - _through_unloads(call, lambda: _offloaded_ledgers(call, topic)))


def _through_unloads(call: Call, ask: Callable[[], T]) -> T:
    """Asks again while the topic is unloaded. Raises `CliError` for any other reason."""
    for interruption in range(1, INTERRUPTIONS_MAX + 1):
        try:
            return ask()
        except CliError as error:
            if error.status != UNAVAILABLE or not (error.reason or "").endswith(UNLOADED):
                raise
            call.notice(f"interrupted: {error.reason}")
            pause(min(POLL_FIRST_SECONDS * 2**interruption, POLL_MAX_SECONDS))
    return ask()


def _offloaded_ledgers(call: Call, topic: str) -> set[int]:
    return {each for each, ledger in _ledgers(call, topic).items() if ledger.get("offloaded")}


def _ledgers(call: Call, topic: str) -> dict[int, dict[str, Any]]:
    """By their IDs."""
    return {int(each["ledgerId"]): each for each in call.admin.topics.internal_stats(topic).get("ledgers") or []}


def _is_namespace(target: str) -> bool:
    return "://" not in target and target.count("/") == 1


def _parts(call: Call, target: str) -> list[str]:
    """Topics without partitions, and each partition or segment of the others."""
    if not _is_namespace(target):
        return part_names(call.admin, readable_topic(target))
    return [part.topic for parts in parts_in(call.admin, target, call.notice).values() for part in parts]
