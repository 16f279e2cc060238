"""The verbs of policies: `get-`, `set-` and `remove-` for each of them, from one table.

`topics` and `topicPolicies` have the same verbs for the same policies; namespaces have most of them, without
`--applied` and `--global`. What a policy's flags are, and what they make, is in `policy_flags`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from pulsarctl.shell.arguments import Namespace, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import subscription_segment
from pulsarctl.verbs import policy_flags as flags
from pulsarctl.verbs.policy_text import policy_text

Query = dict[str, object]

Applied = Annotated[
    bool, typer.Option("-ap", "--applied", "-a", help="The value in force, inherited from namespace and broker.")
]
Global = Annotated[bool, typer.Option("-g", "--global", help="The policy of all clusters.")]
OfSubscription = Annotated[
    str | None, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Of this one alone.")
]


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that says which of several policies at one place is meant: by the path, or in the query."""

    name: str
    kind: Any
    default: Any
    place: Callable[[str, Any], tuple[str, Query]]
    reads: bool = True


OF_ONE_SUBSCRIPTION = Choice(
    "of_subscription",
    OfSubscription,
    None,
    lambda path, name: (path if name is None else f"{subscription_segment(name)}/dispatchRate", {}),
)
OF_ONE_TYPE = Choice(
    "kind",
    flags.QuotaType,
    "destination_storage",
    lambda path, kind: (path, {"backlogQuotaType": kind}),
    reads=False,
)


@dataclass(frozen=True, slots=True)
class Policy:
    """`path`: last part of its REST path; `read`: that of reading it, where it differs. `example`: flags for the help.

    `flags`: a function of `policy_flags`. `getter`: name in the verb that reads it, where it differs. `also`: other
    names of the policy, unseen by help. `method`: how it is set, QUERY where the value is in the query. `clear`: how
    it is removed, "" when it cannot be, "null" where an empty value does it.
    """

    name: str
    path: str
    flags: Callable[..., Any]
    example: str
    also: tuple[str, ...] = ()
    method: str = "POST"
    clear: str = "DELETE"
    choice: Choice | None = None
    getter: str = ""
    read: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """Where policies are set. `reading` and `changing`: the level's own options, by the query's names for them."""

    name: str
    place: Any
    example: str
    client: Callable[[Call], Any]
    fallback: str
    reading: dict[str, Any] = field(default_factory=dict)
    changing: dict[str, Any] = field(default_factory=dict)


OF_NAMESPACES = Level("namespace", Namespace, "public/default", lambda call: call.admin.namespaces, "broker's")
OF_TOPICS = Level(
    "topic",
    Topic,
    "orders",
    lambda call: call.admin.topics,
    "namespace's",
    {"applied": Applied, "isGlobal": Global},
    {"isGlobal": Global},
)

QUOTA = Policy(
    "backlog-quota",
    "backlogQuota",
    flags.backlog_quota,
    "-l 10G -p producer_request_hold",
    also=("backlog-quotas",),
    choice=OF_ONE_TYPE,
    getter="backlog-quotas",
    read="backlogQuotaMap",
)

NAMESPACE = (
    Policy("message-ttl", "messageTTL", flags.message_ttl, "-ttl 2h"),
    Policy("retention", "retention", flags.retention, "-t 1d -s 10G"),
    Policy("compaction-threshold", "compactionThreshold", flags.compaction_threshold, "-t 100M", method="PUT"),
    QUOTA,
    Policy("persistence", "persistence", flags.persistence, "-e 2 -w 2 -a 2"),
    Policy("deduplication", "deduplication", flags.deduplication, "--enable"),
    Policy(
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        flags.deduplication_snapshot_interval,
        "-i 60",
        clear="null",
    ),
    Policy("delayed-delivery", "delayedDelivery", flags.delayed_delivery, "--enable -t 100ms"),
    Policy(
        "inactive-topic-policies",
        "inactiveTopicPolicies",
        flags.inactive_topic_policies,
        "-e -t 1h -m delete_when_no_subscriptions",
    ),
    Policy("publish-rate", "publishRate", flags.publish_rate, "-m 1000"),
    Policy("dispatch-rate", "dispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy("subscription-dispatch-rate", "subscriptionDispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy("replicator-dispatch-rate", "replicatorDispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy("subscribe-rate", "subscribeRate", flags.subscribe_rate, "-sr 10"),
    Policy("max-producers-per-topic", "maxProducersPerTopic", flags.max_producers, "-p 10"),
    Policy("max-consumers-per-topic", "maxConsumersPerTopic", flags.max_consumers, "-c 10"),
    Policy(
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        flags.max_consumers_per_subscription,
        "-c 10",
    ),
    Policy("max-subscriptions-per-topic", "maxSubscriptionsPerTopic", flags.max_subscriptions, "-m 10"),
    Policy("max-topics-per-namespace", "maxTopicsPerNamespace", flags.max_topics, "-t 100"),
    Policy(
        "max-unacked-messages-per-consumer", "maxUnackedMessagesPerConsumer", flags.max_unacked_per_consumer, "-c 1000"
    ),
    Policy(
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesPerSubscription",
        flags.max_unacked_per_subscription,
        "-c 1000",
    ),
    Policy(
        "subscription-types-enabled", "subscriptionTypesEnabled", flags.subscription_types_enabled, "-t Shared,Failover"
    ),
    Policy(
        "auto-topic-creation",
        "autoTopicCreation",
        flags.auto_topic_creation,
        "--enable -t partitioned -n 4",
        also=("topic-auto-creation",),
    ),
    Policy("auto-subscription-creation", "autoSubscriptionCreation", flags.auto_subscription_creation, "--enable"),
    Policy("encryption-required", "encryptionRequired", flags.encryption_required, "--enable", clear=""),
    Policy("subscription-expiration-time", "subscriptionExpirationTime", flags.subscription_expiration_time, "-t 7d"),
)

TOPIC = (
    Policy("message-ttl", "messageTTL", flags.message_ttl, "-t 2h", method="QUERY"),
    Policy("retention", "retention", flags.retention, "-t 1d -s 10G"),
    Policy("compaction-threshold", "compactionThreshold", flags.compaction_threshold, "-t 100M"),
    QUOTA,
    Policy("persistence", "persistence", flags.persistence, "-e 2 -w 2 -a 2"),
    Policy("deduplication", "deduplicationEnabled", flags.deduplication, "--enable", also=("deduplication-enabled",)),
    Policy(
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        flags.deduplication_snapshot_interval,
        "-i 60",
    ),
    Policy("delayed-delivery", "delayedDelivery", flags.delayed_delivery, "--enable -t 100ms"),
    Policy(
        "inactive-topic-policies",
        "inactiveTopicPolicies",
        flags.inactive_topic_policies,
        "-e -t 1h -m delete_when_no_subscriptions",
    ),
    Policy("publish-rate", "publishRate", flags.publish_rate, "-m 1000"),
    Policy("dispatch-rate", "dispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy(
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        flags.dispatch_rate,
        "-md 1000 -s billing",
        choice=OF_ONE_SUBSCRIPTION,
    ),
    Policy("replicator-dispatch-rate", "replicatorDispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy("subscribe-rate", "subscribeRate", flags.subscribe_rate, "-sr 10"),
    Policy("max-producers", "maxProducers", flags.max_producers, "-p 10", also=("maxProducers",)),
    Policy("max-consumers", "maxConsumers", flags.max_consumers, "-c 10", also=("maxConsumers",)),
    Policy(
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        flags.max_consumers_per_subscription,
        "-c 10",
    ),
    Policy(
        "max-subscriptions",
        "maxSubscriptionsPerTopic",
        flags.max_subscriptions,
        "-m 10",
        also=("max-subscriptions-per-topic",),
    ),
    Policy(
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesOnConsumer",
        flags.max_unacked_per_consumer,
        "-m 1000",
        also=("max-unacked-messages-on-consumer",),
    ),
    Policy(
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesOnSubscription",
        flags.max_unacked_per_subscription,
        "-m 1000",
        also=("max-unacked-messages-on-subscription",),
    ),
    Policy("max-message-size", "maxMessageSize", flags.max_message_size, "-m 1M"),
    Policy(
        "subscription-types-enabled", "subscriptionTypesEnabled", flags.subscription_types_enabled, "-t Shared,Failover"
    ),
    Policy("auto-subscription-creation", "autoSubscriptionCreation", flags.auto_subscription_creation, "--enable"),
)


def install_namespace_policies(noun: Noun) -> None:
    """Adds the policy verbs of a namespace."""
    _install(noun, OF_NAMESPACES, NAMESPACE)


def install_topic_policies(noun: Noun) -> None:
    """Adds the policy verbs of a topic to a noun."""
    _install(noun, OF_TOPICS, TOPIC)


def _install(noun: Noun, level: Level, policies: tuple[Policy, ...]) -> None:
    for policy in policies:
        _install_get(noun, level, policy)
        _install_set(noun, level, policy)
        if policy.clear:
            _install_remove(noun, level, policy)


def _install_get(noun: Noun, level: Level, policy: Policy) -> None:
    choice = policy.choice if policy.choice is not None and policy.choice.reads else None

    def get(call: Call, place: str, **given: Any) -> None:
        path, query = _located(policy.read or policy.path, choice, given)
        call.show(level.client(call).policy(place, path, **given, **query))

    name = policy.getter or policy.name
    others = [other for other in (policy.name, *policy.also) if other != name]
    summary = f"Show the {name} of a {level.name}; null when it has none."
    body = _with_options(get, level, _options(choice, level.reading))
    noun.verb(*(f"get-{one}" for one in (name, *others)), help=summary)(body)


def _install_set(noun: Noun, level: Level, policy: Policy) -> None:
    own = list(inspect.signature(policy.flags).parameters.values())[1:]
    shared = {one.name for one in own}
    extra = [one for one in _options(policy.choice, level.changing) if one.name not in shared]

    def set_policy(call: Call, place: str, **given: Any) -> None:
        value = policy.flags(call, **{name: given[name] for name in shared})
        path, query = _located(policy.path, policy.choice, given)
        query |= {name: given[name] for name in level.changing}
        client = level.client(call)
        if policy.method == "QUERY":
            client.set_policy(place, path, None, **{path: value}, **query)
        else:
            client.set_policy(place, path, value, method=policy.method, **query)
        call.tell(f"{policy.name} of {place}: {policy_text(policy.name, value)}")

    example = f"Example: pulsarctl {noun.noun} set-{policy.name} {level.example} {policy.example}"
    body = _with_options(set_policy, level, [*own, *extra])
    names = (f"set-{one}" for one in (policy.name, *policy.also))
    noun.verb(*names, help=f"{inspect.getdoc(policy.flags)}\n\n{example}")(body)


def _install_remove(noun: Noun, level: Level, policy: Policy) -> None:
    def remove(call: Call, place: str, **given: Any) -> None:
        path, query = _located(policy.path, policy.choice, given)
        client = level.client(call)
        if policy.clear == "null":
            client.set_policy(place, path, None, method=policy.method, **given, **query)
        else:
            client.remove_policy(place, path, **given, **query)
        call.tell(f"{policy.name} of {place} is removed: the {level.fallback} is in force")

    summary = f"Remove the {policy.name} of a {level.name}; the {level.fallback} is in force again."
    body = _with_options(remove, level, _options(policy.choice, level.changing))
    noun.verb(*(f"remove-{one}" for one in (policy.name, *policy.also)), help=summary)(body)


def _located(path: str, choice: Choice | None, given: dict[str, Any]) -> tuple[str, Query]:
    """The path and query of what was chosen; takes the choice out of what was given."""
    return (path, {}) if choice is None else choice.place(path, given.pop(choice.name))


def _options(choice: Choice | None, levels_own: dict[str, Any]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter(name, keyword, annotation=kind, default=False) for name, kind in levels_own.items()]
    if choice is not None:
        found.insert(0, inspect.Parameter(choice.name, keyword, annotation=choice.kind, default=choice.default))
    return found


def _with_options(body: Callable[..., None], level: Level, options: list[inspect.Parameter]) -> Callable[..., None]:
    """The function with these parameters, as Typer is to see them."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter("call", either, annotation=Call),
        inspect.Parameter("place", either, annotation=level.place),
        *options,
    ]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    body.__annotations__ = {one.name: one.annotation for one in parameters}
    return body
