"""The verbs of policies: `get-`, `set-`, and `remove-` for each of them, from one table.

`topics` and `topicPolicies` have the same verbs for the same policies. Namespaces have most of them, without
`--applied` and `--global`. `policy_flags` and `schema_policy_flags` have each policy's flags and the JSON they make.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from pulsarctl.shell.arguments import Namespace, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import subscription_segment
from pulsarctl.verbs import policy_flags as flags
from pulsarctl.verbs import schema_policy_flags as schema_flags
from pulsarctl.verbs.policy_text import policy_text

Query = dict[str, object]

Applied = Annotated[
    bool,
    typer.Option("-ap", "--applied", "-a", help="Show the policy in effect, with what namespace and broker set."),
]
Global = Annotated[bool, typer.Option("-g", "--global", help="Use the policy of all clusters, not of this one.")]
OfSubscription = Annotated[
    str | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Apply to one subscription only."),
]


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that selects one of several policies on the same topic or namespace, by path or by query."""

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
    """One policy of one level.

    path     last part of its REST path; `read` is that of reading it, where it differs
    flags    a function of `policy_flags` or `schema_policy_flags`; `example` has flags for the help
    summary  of its set verb, if not that of `flags`
    getter   name in the verb that reads it, where it differs; `also` has other names, hidden from help
    method   how it is set; QUERY if the value is in the query
    clear    how it is removed: "" if it cannot be, "null" if an empty value does it
    reading  the query options of its get verb, where they differ from the level's; `changing`: of set and remove
    """

    heading: Heading
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
    summary: str = ""
    reading: dict[str, Any] | None = None
    changing: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """`retention policy`, for sentences."""
        return f"{self.name.removesuffix('-policies')} policy"


@dataclass(frozen=True, slots=True)
class Level:
    """Where policies are set. `reading` and `changing` are the level's own options, by their query parameters."""

    name: str
    place: Any
    example: str
    client: Callable[[Call], Any]
    fallback: str
    reading: dict[str, Any] = field(default_factory=dict)
    changing: dict[str, Any] = field(default_factory=dict)


OF_NAMESPACES = Level(
    "namespace", Namespace, "public/default", lambda call: call.admin.namespaces, "the broker's default"
)
OF_TOPICS = Level(
    "topic",
    Topic,
    "orders",
    lambda call: call.admin.topics,
    "the namespace policy",
    {"applied": Applied, "isGlobal": Global},
    {"isGlobal": Global},
)

QUOTA = Policy(
    Heading.STORAGE,
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
    Policy(Heading.STORAGE, "message-ttl", "messageTTL", flags.message_ttl, "-ttl 2h"),
    Policy(Heading.STORAGE, "retention", "retention", flags.retention, "-t 1d -s 10G"),
    Policy(
        Heading.STORAGE,
        "compaction-threshold",
        "compactionThreshold",
        flags.compaction_threshold,
        "-t 100M",
        method="PUT",
    ),
    QUOTA,
    Policy(Heading.STORAGE, "persistence", "persistence", flags.persistence, "-e 2 -w 2 -a 2"),
    Policy(Heading.DELIVERY, "deduplication", "deduplication", flags.deduplication, "--enable"),
    Policy(
        Heading.DELIVERY,
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        flags.deduplication_snapshot_interval,
        "-i 60",
        clear="null",
    ),
    Policy(Heading.DELIVERY, "delayed-delivery", "delayedDelivery", flags.delayed_delivery, "--enable -t 100ms"),
    Policy(
        Heading.CREATION,
        "inactive-topic-policies",
        "inactiveTopicPolicies",
        flags.inactive_topic_policies,
        "-e -t 1h -m delete_when_no_subscriptions",
    ),
    Policy(Heading.RATES, "publish-rate", "publishRate", flags.publish_rate, "-m 1000"),
    Policy(Heading.RATES, "dispatch-rate", "dispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy(
        Heading.RATES,
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        flags.dispatch_rate,
        "-md 1000",
        summary="Limit the rate of delivery to each subscription.",
    ),
    Policy(
        Heading.RATES,
        "replicator-dispatch-rate",
        "replicatorDispatchRate",
        flags.dispatch_rate,
        "-md 1000",
        summary="Limit the rate of replication to other clusters.",
    ),
    Policy(Heading.RATES, "subscribe-rate", "subscribeRate", flags.subscribe_rate, "-sr 10"),
    Policy(Heading.LIMITS, "max-producers-per-topic", "maxProducersPerTopic", flags.max_producers, "-p 10"),
    Policy(Heading.LIMITS, "max-consumers-per-topic", "maxConsumersPerTopic", flags.max_consumers, "-c 10"),
    Policy(
        Heading.LIMITS,
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        flags.max_consumers_per_subscription,
        "-c 10",
    ),
    Policy(Heading.LIMITS, "max-subscriptions-per-topic", "maxSubscriptionsPerTopic", flags.max_subscriptions, "-m 10"),
    Policy(Heading.LIMITS, "max-topics-per-namespace", "maxTopicsPerNamespace", flags.max_topics, "-t 100"),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesPerConsumer",
        flags.max_unacked_per_consumer,
        "-c 1000",
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesPerSubscription",
        flags.max_unacked_per_subscription,
        "-c 1000",
    ),
    Policy(
        Heading.DELIVERY,
        "subscription-types-enabled",
        "subscriptionTypesEnabled",
        flags.subscription_types_enabled,
        "-t Shared,Failover",
    ),
    Policy(
        Heading.CREATION,
        "auto-topic-creation",
        "autoTopicCreation",
        flags.auto_topic_creation,
        "--enable -t partitioned -n 4",
        also=("topic-auto-creation",),
    ),
    Policy(
        Heading.CREATION,
        "auto-subscription-creation",
        "autoSubscriptionCreation",
        flags.auto_subscription_creation,
        "--enable",
    ),
    Policy(
        Heading.DELIVERY, "encryption-required", "encryptionRequired", flags.encryption_required, "--enable", clear=""
    ),
    Policy(
        Heading.CREATION,
        "subscription-expiration-time",
        "subscriptionExpirationTime",
        flags.subscription_expiration_time,
        "-t 7d",
    ),
    Policy(
        Heading.SCHEMA,
        "schema-compatibility-strategy",
        "schemaCompatibilityStrategy",
        schema_flags.compatibility_strategy,
        "-c BACKWARD",
        method="PUT",
        clear="",
    ),
    Policy(
        Heading.SCHEMA,
        "schema-autoupdate-strategy",
        "schemaAutoUpdateCompatibilityStrategy",
        schema_flags.autoupdate_strategy,
        "-c Backward",
        method="PUT",
        clear="",
    ),
    Policy(
        Heading.SCHEMA,
        "is-allow-auto-update-schema",
        "isAllowAutoUpdateSchema",
        schema_flags.allow_auto_update,
        "--disable",
        clear="",
    ),
    Policy(
        Heading.SCHEMA,
        "schema-validation-enforce",
        "schemaValidationEnforced",
        schema_flags.validation_enforced,
        "--enable",
        also=("schema-validation-enforced",),
        clear="",
        reading={"applied": Applied},
    ),
)

TOPIC = (
    Policy(Heading.STORAGE, "message-ttl", "messageTTL", flags.message_ttl, "-t 2h", method="QUERY"),
    Policy(Heading.STORAGE, "retention", "retention", flags.retention, "-t 1d -s 10G"),
    Policy(Heading.STORAGE, "compaction-threshold", "compactionThreshold", flags.compaction_threshold, "-t 100M"),
    QUOTA,
    Policy(Heading.STORAGE, "persistence", "persistence", flags.persistence, "-e 2 -w 2 -a 2"),
    Policy(
        Heading.DELIVERY,
        "deduplication",
        "deduplicationEnabled",
        flags.deduplication,
        "--enable",
        also=("deduplication-enabled",),
    ),
    Policy(
        Heading.DELIVERY,
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        flags.deduplication_snapshot_interval,
        "-i 60",
    ),
    Policy(Heading.DELIVERY, "delayed-delivery", "delayedDelivery", flags.delayed_delivery, "--enable -t 100ms"),
    Policy(
        Heading.CREATION,
        "inactive-topic-policies",
        "inactiveTopicPolicies",
        flags.inactive_topic_policies,
        "-e -t 1h -m delete_when_no_subscriptions",
    ),
    Policy(Heading.RATES, "publish-rate", "publishRate", flags.publish_rate, "-m 1000"),
    Policy(Heading.RATES, "dispatch-rate", "dispatchRate", flags.dispatch_rate, "-md 1000"),
    Policy(
        Heading.RATES,
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        flags.dispatch_rate,
        "-md 1000 -s billing",
        summary="Limit the rate of delivery to each subscription.",
        choice=OF_ONE_SUBSCRIPTION,
    ),
    Policy(
        Heading.RATES,
        "replicator-dispatch-rate",
        "replicatorDispatchRate",
        flags.dispatch_rate,
        "-md 1000",
        summary="Limit the rate of replication to other clusters.",
    ),
    Policy(Heading.RATES, "subscribe-rate", "subscribeRate", flags.subscribe_rate, "-sr 10"),
    Policy(Heading.LIMITS, "max-producers", "maxProducers", flags.max_producers, "-p 10", also=("maxProducers",)),
    Policy(Heading.LIMITS, "max-consumers", "maxConsumers", flags.max_consumers, "-c 10", also=("maxConsumers",)),
    Policy(
        Heading.LIMITS,
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        flags.max_consumers_per_subscription,
        "-c 10",
    ),
    Policy(
        Heading.LIMITS,
        "max-subscriptions",
        "maxSubscriptionsPerTopic",
        flags.max_subscriptions,
        "-m 10",
        also=("max-subscriptions-per-topic",),
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesOnConsumer",
        flags.max_unacked_per_consumer,
        "-m 1000",
        also=("max-unacked-messages-on-consumer",),
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesOnSubscription",
        flags.max_unacked_per_subscription,
        "-m 1000",
        also=("max-unacked-messages-on-subscription",),
    ),
    Policy(Heading.LIMITS, "max-message-size", "maxMessageSize", flags.max_message_size, "-m 1M"),
    Policy(
        Heading.DELIVERY,
        "subscription-types-enabled",
        "subscriptionTypesEnabled",
        flags.subscription_types_enabled,
        "-t Shared,Failover",
    ),
    Policy(
        Heading.CREATION,
        "auto-subscription-creation",
        "autoSubscriptionCreation",
        flags.auto_subscription_creation,
        "--enable",
    ),
    Policy(
        Heading.SCHEMA,
        "schema-compatibility-strategy",
        "schemaCompatibilityStrategy",
        schema_flags.compatibility_strategy,
        "-s FORWARD",
        method="PUT",
        reading={"applied": Applied},
        changing={},
    ),
    Policy(
        Heading.SCHEMA,
        "schema-validation-enforce",
        "schemaValidationEnforced",
        schema_flags.validation_enforced,
        "--enable",
        also=("schema-validation-enforced",),
        clear="",
        reading={"applied": Applied},
        changing={},
    ),
)


def install_namespace_policies(noun: Noun) -> None:
    """Adds the policy verbs of namespaces."""
    _install(noun, OF_NAMESPACES, NAMESPACE)


def install_topic_policies(noun: Noun) -> None:
    """Adds the policy verbs of topics."""
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
        path, query = _chosen(policy.read or policy.path, choice, given)
        call.show(level.client(call).policy(place, path, **given, **query))

    name = policy.getter or policy.name
    others = [other for other in (policy.name, *policy.also) if other != name]
    summary = f"Show the {policy.title} of a {level.name}."
    body = _with_options(get, level, _options(choice, _reading(level, policy)))
    noun.verb(*(f"get-{one}" for one in (name, *others)), heading=policy.heading, help=summary)(body)


def _install_set(noun: Noun, level: Level, policy: Policy) -> None:
    own = list(inspect.signature(policy.flags).parameters.values())[1:]
    shared = {one.name for one in own}
    changing = _changing(level, policy)
    extra = [one for one in _options(policy.choice, changing) if one.name not in shared]

    def set_policy(call: Call, place: str, **given: Any) -> None:
        value = policy.flags(call, **{name: given[name] for name in shared})
        path, query = _chosen(policy.path, policy.choice, given)
        query |= {name: given[name] for name in changing}
        client = level.client(call)
        if policy.method == "QUERY":
            client.set_policy(place, path, None, **{path: value}, **query)
        else:
            client.set_policy(place, path, value, method=policy.method, **query)
        call.tell(f"{policy.name} of {place}: {policy_text(policy.name, value)}")

    example = f"Example: pulsarctl {noun.noun} set-{policy.name} {level.example} {policy.example}"
    body = _with_options(set_policy, level, [*own, *extra])
    names = (f"set-{one}" for one in (policy.name, *policy.also))
    noun.verb(*names, heading=policy.heading, help=f"{policy.summary or inspect.getdoc(policy.flags)}\n\n{example}")(
        body
    )


def _install_remove(noun: Noun, level: Level, policy: Policy) -> None:
    def remove(call: Call, place: str, **given: Any) -> None:
        path, query = _chosen(policy.path, policy.choice, given)
        client = level.client(call)
        if policy.clear == "null":
            client.set_policy(place, path, None, method=policy.method, **given, **query)
        else:
            client.remove_policy(place, path, **given, **query)
        call.tell(f"removed the {policy.title} of {place}: {level.fallback} applies")

    summary = f"Remove the {policy.title} of a {level.name}.\n\nAfterwards, {level.fallback} applies."
    body = _with_options(remove, level, _options(policy.choice, _changing(level, policy)))
    names = (f"remove-{one}" for one in (policy.name, *policy.also))
    noun.verb(*names, heading=policy.heading, help=summary)(body)


def _reading(level: Level, policy: Policy) -> dict[str, Any]:
    return level.reading if policy.reading is None else policy.reading


def _changing(level: Level, policy: Policy) -> dict[str, Any]:
    return level.changing if policy.changing is None else policy.changing


def _chosen(path: str, choice: Choice | None, given: dict[str, Any]) -> tuple[str, Query]:
    """The path and query of the chosen policy. Takes the choice out of `given`."""
    return (path, {}) if choice is None else choice.place(path, given.pop(choice.name))


def _options(choice: Choice | None, of_level: dict[str, Any]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter(name, keyword, annotation=kind, default=False) for name, kind in of_level.items()]
    if choice is not None:
        found.insert(0, inspect.Parameter(choice.name, keyword, annotation=choice.kind, default=choice.default))
    return found


def _with_options(body: Callable[..., None], level: Level, options: list[inspect.Parameter]) -> Callable[..., None]:
    """The function with the signature that Typer reads."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter("call", either, annotation=Call),
        inspect.Parameter("place", either, annotation=level.place),
        *options,
    ]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    body.__annotations__ = {one.name: one.annotation for one in parameters}
    return body
