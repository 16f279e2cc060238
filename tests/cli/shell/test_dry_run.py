"""`--dry-run` prints the requests that would change something and sends none; `-v` shows those that are sent."""

import json
import re

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli

LINES = (
    "tenants create t",
    "tenants update public -r a",
    "tenants delete public --force",
    "namespaces create public/n",
    "namespaces delete public/default --force",
    "namespaces set-retention public/default -t 1d -s 1G",
    "namespaces remove-retention public/default",
    "namespaces clear-backlog public/default",
    "namespaces unsubscribe public/default -s s",
    "namespaces split-bundle public/default -b 0x00000000_0x40000000",
    "namespaces grant-permission public/default --role r --actions consume",
    "topics create t",
    "topics delete t",
    "topics delete t u",
    "topics delete -r .*",
    "topics terminate t",
    "topics truncate t",
    "topics compact t",
    "topics create-subscription t -s s",
    "topics unsubscribe t -s s",
    "topics skip t -s s -n 1",
    "topicPolicies set-max-producers t -p 5",
    "topicPolicies delete t",
    "subscriptions delete t s",
    "schemas delete t",
    "clusters create c --url http://c:80",
    "clusters delete c",
    "brokers shutdown",
    "brokers backlog-quota-check",
    "bookies set-bookie-rack -b b -r r",
    "resourcegroups create g -mp 1",
    "functions delete --name f",
    "sources stop --name s",
    "transactions abort-transaction -m 1 -l 2",
    "scalable-topics delete t",
    "scalable-topics split-segment t -s 0",
    "scalable-topics seek t -s s -t 10m",
)


def answer(request: Request) -> Reply:
    """A broker with one topic without partitions."""
    path = request.path.partition("?")[0]
    if path.endswith("/partitions"):
        return Reply(body={"partitions": 0})
    if path.endswith(("/clusters", "/subscriptions")):
        return Reply(body=["standalone"])
    if path.endswith("/persistent/public/default"):
        return Reply(body=["persistent://public/default/t"])
    return Reply(body=[] if path.endswith("/default") else {})


@pytest.mark.parametrize("line", LINES)
def test_a_dry_run_sends_no_change_and_prints_it(cli_alone: Cli, line: str) -> None:
    with HttpStub(answer) as broker:
        outcome = cli_alone(*line.split(), "--dry-run", "--admin-url", broker.url)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert {request.method for request in broker.requests} <= {"GET"}
    assert not [request for request in broker.requests if "backlog-quota-check" in request.path]
    assert re.match(rf"(PUT|POST|DELETE|GET) {broker.url}/admin/", outcome.stdout)


def test_a_dry_run_prints_the_body_that_the_broker_would_get(cli_alone: Cli) -> None:
    words = ("namespaces", "set-retention", "public/default", "-t", "1d", "-s", "1G")
    with HttpStub(answer) as broker:
        planned = cli_alone(*words, "--dry-run", "--admin-url", broker.url).stdout
        cli_alone(*words, "--admin-url", broker.url)
    [sent] = broker.requests
    method, url, body = planned.split(" ", 2)
    assert (method, url, json.loads(body)) == (sent.method, broker.url + sent.path, json.loads(sent.body))


@pytest.mark.parametrize(
    "words", [("produce", "t", "-m", "x"), ("context", "create", "c"), ("storage", "accept-loss", "d")], ids=" ".join
)
def test_a_command_that_does_more_refuses_a_dry_run(cli_alone: Cli, words: tuple[str, ...]) -> None:
    outcome = cli_alone("--dry-run", *words)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(
        f"error: cannot show a dry run of '{' '.join(words[: 1 + (words[0] != 'produce')])}'"
    )


def test_v_after_the_command_shows_each_request(cli_alone: Cli) -> None:
    with HttpStub(answer) as broker:
        outcome = cli_alone("topics", "delete", "t", "-v", "--admin-url", broker.url)
    topic = f"{broker.url}/admin/v2/persistent/public/default/t"
    shown = [re.sub(r"\d+ ms", "N ms", line) for line in outcome.stderr.splitlines() if " answered " in line]
    assert shown == [
        f"GET {topic}/partitions answered 200 in N ms",
        f"DELETE {topic}?force=false answered 200 in N ms",
    ]
