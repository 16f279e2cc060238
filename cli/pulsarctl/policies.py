"""Policies on the command line: their names, their flags, what is sent; and the verbs of topic policies.

`topics` and `topicPolicies` have the same verbs for the same policies; namespaces have the same policies
without `--applied` and `--global`. Sizes and times are sent as pulsar-admin sends them: retention in whole
minutes and MiB, rounded down.
"""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from pulsarctl.arguments import Topic
from pulsarctl.call import Call
from pulsarctl.grammar import Noun
from pulsarctl.quantities import parse_seconds, parse_size

# name of the policy -> last part of its REST path
PATHS = {"message-ttl": "messageTTL", "retention": "retention", "compaction-threshold": "compactionThreshold"}

Applied = Annotated[
    bool, typer.Option("-ap", "--applied", "-a", help="The value in force, inherited from namespace and broker.")
]
Global = Annotated[bool, typer.Option("-g", "--global", help="The policy of all clusters.")]
Ttl = Annotated[
    str, typer.Option("-ttl", "--messageTTL", "-t", "--ttl", metavar="DURATION", help="Expire after; 0 is never.")
]
RetentionTime = Annotated[
    str, typer.Option("-t", "--time", metavar="DURATION", help="How long; 0 none, -1 for ever. Whole minutes.")
]
RetentionSize = Annotated[
    str, typer.Option("-s", "--size", metavar="SIZE", help="How much; 0 none, -1 unlimited. Whole MiB.")
]
Threshold = Annotated[
    str, typer.Option("-t", "--threshold", "--size", metavar="SIZE", help="Compact beyond; 0 is never.")
]


def message_ttl(ttl: str) -> int:
    """Seconds."""
    return parse_seconds(ttl)


def retention(call: Call, time: str, size: str) -> dict[str, int]:
    """RetentionPolicies of the REST API; says so when a value is too small to be kept."""
    seconds, size_bytes = parse_seconds(time), parse_size(size)
    minutes = -1 if seconds < 0 else seconds // 60
    megabytes = -1 if size_bytes < 0 else size_bytes // (1 << 20)
    if seconds > 0 and minutes == 0:
        call.notice(f"notice: a retention time of {time} is less than a minute and stored as 0")
    if size_bytes > 0 and megabytes == 0:
        call.notice(f"notice: a retention size of {size} is less than 1 MiB and stored as 0")
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}


def compaction_threshold(threshold: str) -> int:
    """Bytes."""
    return parse_size(threshold)


def install_topic_policies(noun: Noun) -> None:
    """Adds the policy verbs of a topic to a noun."""
    for policy, path in PATHS.items():
        _install_get(noun, policy, path)
        _install_set(noun, policy, path)
        _install_remove(noun, policy, path)


def _install_get(noun: Noun, policy: str, path: str) -> None:
    @noun.verb(f"get-{policy}", help=f"Show the {policy} of a topic; null when it has none.")
    def get(call: Call, topic: Topic, applied: Applied = False, is_global: Global = False) -> None:
        call.show(call.admin.topics.policy(topic, path, applied=applied, is_global=is_global))


def _install_remove(noun: Noun, policy: str, path: str) -> None:
    @noun.verb(f"remove-{policy}", help=f"Remove the {policy} of a topic; the namespace's is in force again.")
    def remove(call: Call, topic: Topic, is_global: Global = False) -> None:
        call.admin.topics.remove_policy(topic, path, is_global=is_global)


def _install_set(noun: Noun, policy: str, path: str) -> None:
    def send(call: Call, topic: str, value: Any, is_global: bool) -> None:
        if policy == "message-ttl":  # the one policy whose value travels in the query
            call.admin.topics.set_policy(topic, path, None, messageTTL=value, isGlobal=is_global)
        else:
            call.admin.topics.set_policy(topic, path, value, isGlobal=is_global)

    def set_message_ttl(call: Call, topic: Topic, ttl: Ttl, is_global: Global = False) -> None:
        """Expire unacknowledged messages of a topic.

        Example: pulsarctl topics set-message-ttl orders -t 2h
        """
        send(call, topic, message_ttl(ttl), is_global)

    def set_retention(
        call: Call, topic: Topic, time: RetentionTime, size: RetentionSize, is_global: Global = False
    ) -> None:
        """Keep acknowledged messages of a topic.

        Example: pulsarctl topics set-retention orders -t 1d -s 10G
        """
        send(call, topic, retention(call, time, size), is_global)

    def set_compaction_threshold(call: Call, topic: Topic, threshold: Threshold, is_global: Global = False) -> None:
        """Compact a topic by itself beyond this size.

        Example: pulsarctl topics set-compaction-threshold orders -t 100M
        """
        send(call, topic, compaction_threshold(threshold), is_global)

    bodies: dict[str, Callable[..., None]] = {
        "message-ttl": set_message_ttl,
        "retention": set_retention,
        "compaction-threshold": set_compaction_threshold,
    }
    noun.verb(f"set-{policy}")(bodies[policy])
