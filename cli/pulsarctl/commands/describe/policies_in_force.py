"""The policies in force on a topic or a namespace, each with where it is set, for `describe`. Changes nothing.

A policy that may not be read is not the same as one that is not set: it is shown as not readable.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pulsarctl.diagnosis.describing import PolicyInForce
from pulsarctl.errors import CliError, NotFound
from pulsarctl.policies.installing import OF_NAMESPACES, OF_TOPICS
from pulsarctl.policies.policy import Policy
from pulsarctl.policies.text import policy_text
from pulsarctl.shell.call import Call
from pulsarctl.values.names import namespace_of

ALWAYS = (  # shown even if nothing sets them; of the others, those that are set, or have a default
    "retention",
    "message-ttl",
    "backlog-quota",
    "compaction-threshold",
    "deduplication",
    "dispatch-rate",
    "max-producers",
)
SAME = {  # names in the verbs of namespaces -> of topics
    "max-producers-per-topic": "max-producers",
    "max-consumers-per-topic": "max-consumers",
    "max-subscriptions-per-topic": "max-subscriptions",
    "entry-filters": "entry-filters-per-topic",
}
NOT_SETTABLE = 405  # of a broker without topic policies
CLUSTER = "{cluster}"
DEFAULT = "default"  # of a broker; its value is not known
EMPTY: tuple[Any, ...] = (None, "", {}, [])
NO_VALUE: tuple[Any, ...] = (*EMPTY, 0, -1, False)
OFFLOAD_SETTINGS = frozenset({"managedLedgerOffloadedReadPriority", "s3ManagedLedgerOffloadRoleSessionName"})

Read = Callable[[], Any]


def of_namespace(call: Call, namespace: str) -> list[PolicyInForce]:
    """Raises `NotFound`. Broker defaults of namespaces are not reported, except in the policies of topics."""
    policies = _found_in(call, namespace)
    return [policy for policy in policies if policy.origin == "namespace" or policy.failure or policy.name in ALWAYS]


def of_topic(call: Call, topic: str) -> list[PolicyInForce]:
    """The value of the topic, or that of the namespace, or the default of the broker."""
    above = {policy.name: policy for policy in _found_in(call, namespace_of(topic))}
    in_force = [_in_force(call, topic, policy, above.get(policy.name)) for policy in OF_TOPICS]
    return [policy for policy in in_force if policy is not None]


def _in_force(call: Call, topic: str, policy: Policy, above: PolicyInForce | None) -> PolicyInForce | None:
    """None if nothing sets it and the broker has no default either."""
    path = policy.read or policy.path
    own = _read(policy, "topic", lambda: call.admin.topics.policy(topic, path))
    if own is None or own.failure or _is_set(policy, own.value):
        return own
    if above is not None and (above.failure or above.origin == "namespace"):
        return above
    default = _read(policy, "broker", lambda: call.admin.topics.policy(topic, path, applied=True))
    if default is not None and (_says_something(default.value) or default.failure or policy.name in ALWAYS):
        return default
    return None


def _found_in(call: Call, namespace: str) -> list[PolicyInForce]:
    try:
        document = call.admin.namespaces.policies(namespace)
    except NotFound:
        raise
    except CliError as error:
        return [PolicyInForce(_name(policy), None, "", failure=error.message) for policy in OF_NAMESPACES]
    return [_of_document(policy, document) for policy in OF_NAMESPACES if policy.document]


def _of_document(policy: Policy, document: Mapping[str, Any]) -> PolicyInForce:
    value: Any = document
    for part in policy.document.split("/"):
        value = _only(value) if part == CLUSTER else (value or {}).get(part)
    is_set = _is_set(policy, value)
    return _made(policy, value if is_set else None, "namespace" if is_set else "broker")


def _is_set(policy: Policy, value: Any) -> bool:
    """0 and false are values: they say that a limit or a switch of the level above does not apply."""
    return value not in (None, "", {}, []) and value != policy.unset


def _only(by_cluster: Any) -> Any:
    """The value of a cluster, if it is the same for all; otherwise the values by cluster."""
    values = list((by_cluster or {}).values())
    return values[0] if values and all(value == values[0] for value in values) else by_cluster


def _read(policy: Policy, origin: str, read: Read) -> PolicyInForce | None:
    """None for a policy that the broker does not know."""
    try:
        return _made(policy, read(), origin)
    except NotFound:
        return None
    except CliError as error:
        if error.status == NOT_SETTABLE:
            return _made(policy, None, origin)
        return PolicyInForce(_name(policy), None, "", failure=error.message)


def _made(policy: Policy, value: Any, origin: str) -> PolicyInForce:
    text = DEFAULT if value in EMPTY else policy_text(_name(policy), value)
    return PolicyInForce(_name(policy), value, origin, text)


def _name(policy: Policy) -> str:
    return SAME.get(policy.name, policy.name)


def _says_something(value: Any) -> bool:
    """Whether a default limits or switches on anything. Without a driver, no setting of tiered storage does."""
    if isinstance(value, Mapping):
        if not OFFLOAD_SETTINGS.isdisjoint(value) and not value.get("managedLedgerOffloadDriver"):
            return False
        return any(_says_something(member) for member in value.values())
    return value not in NO_VALUE
