"""`pulsarctl scalable-topics` on a milestone of Pulsar 5.0, and on Pulsar 4, which has none."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.runner import Cli, Outcome

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(300)]

NAMESPACE = "public/default"
DONE = Outcome(0, "", "")
STATE = """
scope: [shop]
tenants: {shop: {}}
namespaces: {shop/a: {policies: {scalable-topic-auto-scale-policy: {enabled: false, mergeWindowSeconds: 600}}}}
scalable-topics:
  shop/a/orders: {segments: 3, properties: {owner: me}, policies: {auto-scale-policy: {maxSegments: 8}}}
"""


@pytest.fixture
def cli(java_pulsar_5: JavaPulsar, tmp_path: Path) -> Cli:
    return Cli(tmp_path, java_pulsar_5.http_url, java_pulsar_5.service_url)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def scalable(cli: Cli, verb: str, *words: str) -> Outcome:
    return cli("scalable-topics", verb, *words)


def done(cli: Cli, verb: str, *words: str) -> None:
    outcome = scalable(cli, verb, *words)
    assert outcome == DONE, (verb, outcome)


def shown(cli: Cli, *words: str) -> Any:
    outcome = cli(*words, "-o", "json")
    assert (outcome.exit_code, outcome.stderr) == (0, ""), (words, outcome)
    return json.loads(outcome.stdout)


def segments(cli: Cli, topic: str) -> list[str]:
    """The lines of the drawing."""
    lines = scalable(cli, "describe", topic).stdout.splitlines()
    rest = lines[lines.index("Segments") + 2 :]
    return rest[: rest.index("")]


def test_a_topic_is_created_listed_and_deleted(cli: Cli, topic: str) -> None:
    full = f"topic://{NAMESPACE}/{topic}"
    done(cli, "create", topic, "-s", "3", "-p", "owner=me", "-p", "a=b=c")
    assert shown(cli, "scalable-topics", "list", NAMESPACE, "-p", "owner=me", "-p", "a=b=c") == [full]
    assert scalable(cli, "list", NAMESPACE, "-p", "owner=you") == Outcome(0, "", "no topic\n")
    metadata = shown(cli, "scalable-topics", "get-metadata", full)
    assert (metadata["properties"], len(metadata["segments"])) == ({"owner": "me", "a": "b=c"}, 3)
    assert scalable(cli, "create", topic).exit_code == 6
    done(cli, "delete", f"{NAMESPACE}/{topic}")
    assert scalable(cli, "get-metadata", topic).exit_code == 3


def test_segments_are_split_merged_and_drawn(cli: Cli, topic: str) -> None:
    done(cli, "create", topic, "-s", "2")
    done(cli, "split-segment", topic, "-s", "0")
    done(cli, "merge-segments", topic, "--segment-id-1", "3", "--segment-id-2", "1")
    assert segments(cli, topic) == [
        "  sealed        0  -     0-1     0000-7fff         ░░░░░░░░░░",
        "  sealed        1  -     0-2     8000-ffff                   ░░░░░░░░░░",
        "  active        2  0     1-      0000-3fff  25%    █████",
        "  sealed        3  0     1-2     4000-7fff              ░░░░░",
        "  active        4  1,3   2-      4000-ffff  75%         ███████████████",
    ]
    stats = shown(cli, "scalable-topics", "stats", topic)
    assert (stats["epoch"], stats["activeSegments"], stats["sealedSegments"]) == (2, 2, 3)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("split-segment", "-s", "99"), "Segment not found: 99"),
        (("merge-segments", "--segment-id-1", "0", "--segment-id-2", "2"), "Segments are not adjacent: "),
    ],
    ids=["split", "merge"],
)
def test_what_a_milestone_refuses_with_a_stack_trace_is_one_line(
    cli: Cli, topic: str, words: tuple[str, ...], reason: str
) -> None:
    done(cli, "create", topic, "-s", "3")
    verb, *options = words
    outcome = scalable(cli, verb, topic, *options)
    assert (outcome.exit_code, outcome.stderr.startswith(f"error: {reason}"), outcome.stderr.count("\n")) == (
        1,
        True,
        1,
    )


def test_a_subscription_is_created_moved_cleared_and_deleted(cli: Cli, topic: str) -> None:
    done(cli, "create", topic)
    done(cli, "create-subscription", topic, "-s", "billing")
    done(cli, "create-subscription", topic, "-s", "50%", "--type", "queue")
    found = shown(cli, "scalable-topics", "describe", topic)["subscriptions"]
    assert [(one["name"], one["consumers"]) for one in found] == [("50%", 0), ("billing", 0)]
    moved = scalable(cli, "seek", topic, "-s", "billing", "-t", "1h")
    assert (moved.exit_code, moved.stderr.startswith("subscription billing of topic://")) == (0, True)
    done(cli, "clear-backlog", topic, "-s", "50%")
    done(cli, "delete-subscription", topic, "-s", "50%")
    assert list(shown(cli, "scalable-topics", "stats", topic)["subscriptions"]) == ["billing"]


def test_a_policy_of_a_topic_is_set_shown_and_removed(cli: Cli, topic: str) -> None:
    done(cli, "create", topic)
    assert shown(cli, "scalable-topics", "get-auto-scale-policy", topic) is None
    numbers = ("--min-segments", "2", "--max-segments", "8", "--max-dag-depth", "3")
    times = ("--split-cooldown", "2m", "--merge-cooldown", "3m", "--merge-window", "1h")
    splits = ("--split-msg-rate-in", "9000.5", "--split-bytes-rate-in", "50M", "--split-msg-rate-out", "9001")
    merges = ("--merge-msg-rate-in", "10", "--merge-bytes-rate-in", "1K", "--merge-msg-rate-out", "11")
    outs = ("--split-bytes-rate-out", "51M", "--merge-bytes-rate-out", "2K")
    done(cli, "set-auto-scale-policy", topic, "--disable", *numbers, *times, *splits, *merges, *outs)
    assert shown(cli, "scalable-topics", "get-auto-scale-policy", topic) == {
        "enabled": False,
        "minSegments": 2,
        "maxSegments": 8,
        "maxDagDepth": 3,
        "splitCooldownSeconds": 120,
        "mergeCooldownSeconds": 180,
        "mergeWindowSeconds": 3600,
        "splitMsgRateInThreshold": 9000.5,
        "splitBytesRateInThreshold": 50 << 20,
        "splitMsgRateOutThreshold": 9001,
        "splitBytesRateOutThreshold": 51 << 20,
        "mergeMsgRateInThreshold": 10,
        "mergeBytesRateInThreshold": 1024,
        "mergeMsgRateOutThreshold": 11,
        "mergeBytesRateOutThreshold": 2048,
    }
    done(cli, "set-auto-scale-policy", topic, "--max-segments", "4")
    assert shown(cli, "scalable-topics", "get-auto-scale-policy", topic) == {"maxSegments": 4}
    assert scalable(cli, "set-auto-scale-policy", topic, "--max-segments", "1", "--min-segments", "2").exit_code == 6
    done(cli, "remove-auto-scale-policy", topic)
    assert shown(cli, "scalable-topics", "get-auto-scale-policy", topic) is None


def test_a_policy_of_a_namespace_is_set_shown_and_removed(cli: Cli) -> None:
    policy = "scalable-topic-auto-scale-policy"
    assert cli("namespaces", f"set-{policy}", NAMESPACE, "--disable", "--max-segments", "3") == DONE
    assert shown(cli, "namespaces", f"get-{policy}", NAMESPACE) == {"enabled": False, "maxSegments": 3}
    assert cli("namespaces", f"remove-{policy}", NAMESPACE) == DONE
    assert shown(cli, "namespaces", f"get-{policy}", NAMESPACE) is None


def test_a_partitioned_topic_becomes_scalable(cli: Cli) -> None:
    topic = "payments"
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2") == DONE
    assert cli("topics", "create-subscription", topic, "-s", "billing") == DONE
    done(cli, "migrate", f"persistent://{NAMESPACE}/{topic}")
    assert segments(cli, topic) == [
        "  sealed        0  -     0-0     0000-ffff         ░░░░░░░░░░░░░░░░░░░░",
        "  sealed        1  -     0-0     0000-ffff         ░░░░░░░░░░░░░░░░░░░░",
        "  active        2  0,1   0-      0000-7fff  50%    ██████████",
        "  active        3  0,1   0-      8000-ffff  50%              ██████████",
    ]
    drawn = scalable(cli, "describe", topic).stdout
    assert f"  1  persistent://{NAMESPACE}/{topic}-partition-1\n" in drawn
    assert scalable(cli, "migrate", topic).exit_code == 6


def test_scalable_topics_are_kept_in_files(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "state.yaml"
    path.write_text(STATE)
    assert cli("apply", "-f", str(path), "--yes").exit_code == 0
    assert cli("diff", "-f", str(path), "--prune").exit_code == 0
    exported = yaml.safe_load(cli("export", "-n", "shop").stdout)
    declared = yaml.safe_load(STATE)
    assert exported["namespaces"]["shop/a"]["policies"] == declared["namespaces"]["shop/a"]["policies"]
    assert exported["scalable-topics"] == {"topic://shop/a/orders": declared["scalable-topics"]["shop/a/orders"]}
    path.write_text("scope: [shop]")
    assert cli("apply", "-f", str(path), "--prune", "--yes").exit_code == 0
    assert cli("diff", "-f", str(path), "--prune").exit_code == 0


@pytest.mark.parametrize("line", ["segment-stats {} 0", "rebucket-segment {} -s 0 -b 2"])
def test_a_milestone_lacks_a_request_of_the_release(cli: Cli, line: str) -> None:
    done(cli, "create", name := line.split()[0])
    outcome = scalable(cli, *line.format(name).split())
    said = "error: this broker has scalable topics, but not this request (Pulsar 5.0.0 and later)\n"
    assert outcome == Outcome(3, "", said)


@pytest.mark.parametrize(
    "line",
    [
        "scalable-topics list public/default",
        "scalable-topics create absent",
        "scalable-topics split-segment absent -s 0",
        "namespaces get-scalable-topic-auto-scale-policy public/default",
        "namespaces set-scalable-topic-auto-scale-policy public/default --enable",
        "namespaces remove-scalable-topic-auto-scale-policy public/default",
    ],
)
def test_pulsar_4_has_no_scalable_topics(java_pulsar: JavaPulsar, tmp_path: Path, line: str) -> None:
    outcome = Cli(tmp_path, java_pulsar.http_url)(*line.split())
    assert outcome == Outcome(3, "", "error: this broker has no scalable topics (Pulsar 5.0 and later)\n")
