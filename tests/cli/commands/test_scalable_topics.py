"""`pulsarctl scalable-topics`: what each verb sends and prints, and what brokers without them and early ones answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome

ROOT = "/admin/v2/scalable"
ORDERS = f"{ROOT}/public/default/orders"
OF_NAMESPACE = "/admin/v2/namespaces/public/default/scalableTopicAutoScalePolicy"
METADATA = {
    "epoch": 1,
    "nextSegmentId": 3,
    "segments": {
        str(number): {
            "segmentId": number,
            "hashRange": {"start": start, "end": end},
            "state": state,
            "parentIds": parents,
            "childIds": children,
            "createdAtEpoch": created,
            "sealedAtEpoch": sealed,
        }
        for number, start, end, state, parents, children, created, sealed in (
            (0, 0, 65535, "SEALED", [], [1, 2], 0, 1),
            (1, 0, 32767, "ACTIVE", [0], [], 1, -1),
            (2, 32768, 65535, "ACTIVE", [0], [], 1, -1),
        )
    },
    "properties": {},
}
STATS = {"epoch": 1, "subscriptions": {"billing": {"consumerCount": 2}}}


class Broker:
    """Answers like a broker with one scalable topic; `reply` replaces all its answers."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.regular = ""  # the path of a regular topic

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if self.reply is not None:
            return self.reply
        if request.method != "GET":
            return Reply(204)
        answers: dict[str, Any] = {
            f"{ROOT}/public/default": ["topic://public/default/orders"],
            ORDERS: METADATA,
            f"{ORDERS}/stats": STATS,
            f"{ORDERS}/segments/1/stats": {"msgRateIn": 1.5},
            f"{ORDERS}/autoScalePolicy": {"maxSegments": 8},
            OF_NAMESPACE: {"enabled": False},
            self.regular: {"partitions": 0},
        }
        if path.endswith("/namespaces/public"):
            return Reply(body=["public/default"])
        if path.endswith("/tenants"):
            return Reply(body=["public"])
        return Reply(body=answers[path]) if path in answers else Reply(404, {"reason": "Scalable topic not found"})


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def stub(broker: Broker) -> Iterator[HttpStub]:
    with HttpStub(broker) as running:
        yield running


@pytest.fixture
def cli(stub: HttpStub, tmp_path: Path) -> Cli:
    return Cli(tmp_path, stub.url)


@pytest.mark.parametrize(
    ("line", "method", "path", "body"),
    [
        ("delete orders", "DELETE", f"{ORDERS}?force=false", ""),
        ("delete orders -f", "DELETE", f"{ORDERS}?force=true", ""),
        ("split-segment orders -s 7", "POST", f"{ORDERS}/split/7", ""),
        ("merge-segments orders --segment-id-1 1 --segment-id-2 2", "POST", f"{ORDERS}/merge/1/2", ""),
        ("rebucket-segment orders -s 1 -b 4", "POST", f"{ORDERS}/rebucket/1?bucketCount=4", ""),
        ("migrate orders", "POST", f"{ORDERS}/migrate?force=false", ""),
        ("migrate persistent://t/n/o --force", "POST", f"{ROOT}/t/n/o/migrate?force=true", ""),
        ("migrate topic://t/n/o", "POST", f"{ROOT}/t/n/o/migrate?force=false", ""),
        ("create-subscription orders -s s", "PUT", f"{ORDERS}/subscriptions/s?type=STREAM", ""),
        ("create-subscription orders -s a%b --type queue", "PUT", f"{ORDERS}/subscriptions/a%25b?type=QUEUE", ""),
        ("delete-subscription orders -s s", "DELETE", f"{ORDERS}/subscriptions/s", ""),
        ("clear-backlog orders -s s", "POST", f"{ORDERS}/subscriptions/s/skip-all", ""),
        (
            "set-auto-scale-policy orders --disable --max-segments 8 --merge-window 5m --split-msg-rate-in 0.5"
            " --split-bytes-rate-out 10M",
            "POST",
            f"{ORDERS}/autoScalePolicy",
            '{"enabled": false, "maxSegments": 8, "mergeWindowSeconds": 300, "splitMsgRateInThreshold": 0.5,'
            ' "splitBytesRateOutThreshold": 10485760}',
        ),
        ("remove-auto-scale-policy orders", "DELETE", f"{ORDERS}/autoScalePolicy", ""),
    ],
)
def test_a_verb_sends_one_request_and_prints_nothing(
    cli: Cli, stub: HttpStub, line: str, method: str, path: str, body: str
) -> None:
    assert cli("scalable-topics", *line.split()) == Outcome(0, "", "")
    assert [(one.method, one.path, one.body) for one in stub.requests] == [(method, path, body)]


@pytest.mark.parametrize(
    ("line", "path", "body"),
    [
        ("create orders", f"{ORDERS}?numInitialSegments=1", ""),
        ("create t/n/o -s 4 -p a=b -p c=d=e", f"{ROOT}/t/n/o?numInitialSegments=4", '{"a": "b", "c": "d=e"}'),
        ("create topic://t/n/a/b", f"{ROOT}/t/n/a%2Fb?numInitialSegments=1", ""),
    ],
)
def test_a_topic_is_created_silently(cli: Cli, stub: HttpStub, line: str, path: str, body: str) -> None:
    assert cli("scalable-topics", *line.split()) == Outcome(0, "", "")
    created, asked = stub.requests
    assert (created.method, created.path, created.body) == ("PUT", path, body)
    assert asked.method == "GET", "whether there is a regular topic"


def test_a_note_says_that_a_regular_topic_of_the_same_name_is_another_one(cli: Cli, broker: Broker) -> None:
    broker.regular = "/admin/v2/persistent/public/default/orders/partitions"
    created = cli("scalable-topics", "create", "orders")
    assert (created.exit_code, created.stdout) == (0, "")
    assert created.stderr == (
        "persistent://public/default/orders exists, too, and is another topic; to migrate it instead: "
        "pulsarctl scalable-topics delete topic://public/default/orders && "
        "pulsarctl scalable-topics migrate persistent://public/default/orders\n"
    )
    assert cli("scalable-topics", "create", "other") == Outcome(0, "", "")


def test_topics_are_listed_by_their_properties(cli: Cli, stub: HttpStub) -> None:
    listed = cli("scalable-topics", "list", "public/default", "-p", "a=b", "-p", "c=d")
    assert listed == Outcome(0, "topic://public/default/orders\n", "")
    assert unquote(stub.requests[0].path) == f"{ROOT}/public/default?property=a=b&property=c=d"
    cli("scalable-topics", "list", "public/default")
    assert stub.requests[1].path == f"{ROOT}/public/default"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("get-metadata orders", METADATA),
        ("stats topic://public/default/orders", STATS),
        ("segment-stats orders 1", {"msgRateIn": 1.5}),
        ("get-auto-scale-policy public/default/orders", {"maxSegments": 8}),
    ],
)
def test_a_verb_shows_what_the_broker_answers(cli: Cli, line: str, value: Any) -> None:
    shown = cli("scalable-topics", *line.split(), "-o", "json")
    assert (shown.exit_code, json.loads(shown.stdout), shown.stderr) == (0, value, "")


def test_a_policy_that_is_not_set_is_null(cli: Cli, broker: Broker) -> None:
    broker.reply = Reply(200)
    assert cli("scalable-topics", "get-auto-scale-policy", "orders") == Outcome(0, "null\n", "")


def test_a_subscription_moves_to_a_time(cli: Cli, stub: HttpStub) -> None:
    moved = cli("scalable-topics", "seek", "orders", "-s", "s", "-t", "2026-01-31T08:00:00Z")
    said = "subscription s of topic://public/default/orders moved to 2026-01-31T08:00:00.000Z\n"
    assert moved == Outcome(0, "", said)
    path = f"{ORDERS}/subscriptions/s/seek?timestamp=1769846400000"
    assert [(one.method, one.path) for one in stub.requests] == [("POST", path)]


def test_a_topic_is_drawn(cli: Cli) -> None:
    assert cli("scalable-topics", "describe", "orders").stdout.splitlines() == [
        "Topic         topic://public/default/orders",
        "Epoch         1",
        "Segments      2 active, 1 sealed",
        "Auto-scale    as the namespace and the broker say",
        "",
        "Segments",
        "  STATE   SEGMENT  FROM  EPOCHS  KEYS       SHARE  0000            ffff",
        "  sealed        0  -     0-1     0000-ffff         ░░░░░░░░░░░░░░░░░░░░",
        "  active        1  0     1-      0000-7fff  50%    ██████████",
        "  active        2  0     1-      8000-ffff  50%              ██████████",
        "",
        "Subscriptions",
        "  NAME     TYPE  CONSUMERS  BACKLOG",
        "  billing  -             2  -",
    ]


def test_the_state_of_a_segment_has_a_color(cli: Cli) -> None:
    drawn = cli("scalable-topics", "describe", "orders", "--color", "always").stdout
    assert "  \x1b[32mactive\x1b[0m        1  0 " in drawn
    assert "  \x1b[2msealed\x1b[0m        0  - " in drawn


def test_the_drawing_is_data_in_other_formats(cli: Cli) -> None:
    found = json.loads(cli("scalable-topics", "describe", "orders", "-o", "json").stdout)
    assert (found["topic"], found["activeSegments"]) == ("topic://public/default/orders", 2)
    assert found["segments"][1] == {
        "segmentId": 1,
        "state": "ACTIVE",
        "hashRange": "0000-7fff",
        "share": 0.5,
        "parentIds": [0],
        "childIds": [],
        "createdAtEpoch": 1,
        "sealedAtEpoch": None,
    }
    assert found["subscriptions"] == [{"name": "billing", "type": None, "consumers": 2, "backlog": None}]
    assert cli("scalable-topics", "describe", "orders", "-o", "name").stdout == "topic://public/default/orders\n"


def test_a_namespace_has_a_policy_for_its_scalable_topics(cli: Cli, stub: HttpStub) -> None:
    policy = "scalable-topic-auto-scale-policy"
    shown = cli("namespaces", f"get-{policy}", "public/default", "-o", "json")
    assert json.loads(shown.stdout) == {"enabled": False}
    assert cli("namespaces", f"set-{policy}", "public/default", "--enable", "--split-cooldown", "2m").exit_code == 0
    assert cli("namespaces", f"remove-{policy}", "public/default") == Outcome(0, "", "")
    body = '{"enabled": true, "splitCooldownSeconds": 120}'
    sent = [(one.method, one.path, one.body) for one in stub.requests]
    assert sent == [("GET", OF_NAMESPACE, ""), ("POST", OF_NAMESPACE, body), ("DELETE", OF_NAMESPACE, "")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stats persistent://public/default/x", "'persistent://public/default/x' is not the name of a scalable topic"),
        ("stats a/b", "'a/b' is not the name of a scalable topic"),
        ("migrate non-persistent://a/b/c", "'non-persistent://a/b/c' is not a persistent topic"),
        ("create-subscription orders -s s --type Shared", "unknown type 'Shared'"),
        ("create orders -p a", "'a' is not KEY=VALUE"),
        ("set-auto-scale-policy orders", "no field of the policy given"),
        ("seek orders -s s -t soon", "'soon' is not a time"),
    ],
)
def test_a_wrong_value_is_refused_before_a_request(cli: Cli, stub: HttpStub, line: str, said: str) -> None:
    refused = cli("scalable-topics", *line.split())
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"error: {said}")
    assert stub.requests == []


LINES = (
    "scalable-topics list public/default",
    "scalable-topics create orders",
    "scalable-topics describe orders",
    "scalable-topics split-segment orders -s 0",
    "scalable-topics rebucket-segment orders -s 0 -b 2",
    "scalable-topics migrate orders",
    "namespaces get-scalable-topic-auto-scale-policy public/default",
    "namespaces remove-scalable-topic-auto-scale-policy public/default",
)
PAGE_404 = "<html><head><title>Error 404 Not Found</title></head></html>"
PAGE_405 = "<html><head><title>Error 405 Method Not Allowed</title></head></html>"
NO_BUNDLE = {"reason": "Invalid bundle range: scalableTopicAutoScalePolicy"}


def pulsar_4(request: Request) -> Reply:
    """The answers of Apache Pulsar 4.0.7."""
    if request.path == OF_NAMESPACE:
        return Reply(412, NO_BUNDLE) if request.method == "DELETE" else Reply(405, PAGE_405)
    return Reply(404, PAGE_404)


def other_broker(request: Request) -> Reply:
    """The bundled broker, before it has them."""
    return Reply(404, {"reason": f"this broker has no resource at {request.path}"})


@pytest.mark.parametrize("answer", [pulsar_4, other_broker])
@pytest.mark.parametrize("line", LINES)
def test_a_broker_without_scalable_topics_is_named(cli_alone: Cli, line: str, answer: Any) -> None:
    with HttpStub(answer) as old:
        outcome = cli_alone(*line.split(), "--admin-url", old.url)
    assert outcome == Outcome(3, "", "error: this broker has no scalable topics (Pulsar 5.0 and later)\n")


@pytest.mark.parametrize("line", ["segment-stats orders 0", "rebucket-segment orders -s 0 -b 2"])
def test_a_milestone_lacks_a_request(cli_alone: Cli, line: str) -> None:
    with HttpStub(lambda one: Reply(body=[]) if one.path.endswith("/default") else Reply(404, PAGE_404)) as early:
        outcome = cli_alone("scalable-topics", *line.split(), "--admin-url", early.url)
    said = "error: this broker has scalable topics, but not this request (Pulsar 5.0.0 and later)\n"
    assert outcome == Outcome(3, "", said)


def test_a_missing_topic_is_not_a_missing_feature(cli: Cli, stub: HttpStub) -> None:
    path = f"{ROOT}/public/default/absent"
    assert cli("scalable-topics", "get-metadata", "absent") == Outcome(
        3,
        "",
        f"error: Scalable topic not found (404 for GET {stub.url}{path}, URL from PULSARCTL_ADMIN_URL)\n"
        "hint: list what exists: pulsarctl scalable-topics list public/default\n",
    )


@pytest.mark.parametrize(
    ("line", "reason", "listing"),
    [
        ("split-segment orders -s 99", "Segment not found: 99", "scalable-topics describe public/default/orders"),
        ("migrate absent --yes", "Topic persistent://public/default/absent not found", "topics list public/default"),
    ],
)
def test_the_hint_lists_what_is_missing(cli: Cli, broker: Broker, line: str, reason: str, listing: str) -> None:
    broker.reply = Reply(404, {"reason": reason})
    outcome = cli("scalable-topics", *line.split())
    assert outcome.stderr.endswith(f"hint: list what exists: pulsarctl {listing}\n")


def test_a_migration_that_clients_prevent_names_force(cli: Cli, broker: Broker) -> None:
    broker.reply = Reply(409, {"reason": "Clients that do not know scalable topics are connected to orders"})
    refused = cli("scalable-topics", "migrate", "orders", "--yes")
    broker.reply = Reply(409, {"reason": "Topic is already scalable: topic://public/default/orders"})
    repeated = cli("scalable-topics", "migrate", "orders", "--yes")
    assert refused.stderr.splitlines()[1:] == [
        "hint: --force migrates it in spite of these clients, and their producers fail then"
    ]
    assert (repeated.exit_code, len(repeated.stderr.splitlines())) == (6, 1)


def test_a_stack_trace_becomes_one_sentence(cli: Cli, stub: HttpStub, broker: Broker) -> None:
    trace = (
        "\n\nStacktrace:\n\njava.lang.IllegalArgumentException: Segment not found: 99\n\tat org.apache.A.b(A.java:1)"
    )
    reason = f"\n --- An unexpected error occurred in the server ---\n\nMessage: Segment not found: 99{trace}"
    broker.reply = Reply(500, {"reason": reason})
    outcome = cli("scalable-topics", "split-segment", "orders", "-s", "99")
    request = f"500 for POST {stub.url}{ORDERS}/split/99, URL from PULSARCTL_ADMIN_URL"
    assert outcome == Outcome(1, "", f"error: Segment not found: 99 ({request})\n")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stats o", ["orders"]),
        ("describe pub", ["public/"]),
        ("delete public/default/", ["public/default/orders"]),
        ("stats topic://public/default/o", ["topic://public/default/orders"]),
        ("stats persistent://public/default/o", []),
        ("seek orders -s ", ["billing"]),
        ("create-subscription orders -t ", ["STREAM", "QUEUE"]),
    ],
)
def test_names_of_scalable_topics_complete(cli: Cli, line: str, offered: list[str]) -> None:
    completed = cli("complete", stdin=f"pulsarctl scalable-topics {line}\n")
    assert completed == Outcome(0, "".join(f"{name}\n" for name in offered), "")
