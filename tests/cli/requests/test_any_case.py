"""Values that come from a list are taken in any case, as pulsar-admin does, and sent as Pulsar spells them."""

import pytest

from tests.support.runner import Cli

NAMESPACE = "public/default"
LINES = [
    (f"namespaces set-backlog-quota {NAMESPACE} -l 1G -p PRODUCER_EXCEPTION", '"policy": "producer_exception"'),
    (f"namespaces set-backlog-quota {NAMESPACE} -lt 10 -p producer_exception -t MESSAGE_AGE", "Type=message_age"),
    ("topics set-backlog-quota t -l 1G -p Producer_Request_Hold", '"policy": "producer_request_hold"'),
    (f"namespaces set-subscription-types-enabled {NAMESPACE} -t shared,KEY_SHARED", '["Shared", "Key_Shared"]'),
    (f"namespaces set-auto-topic-creation {NAMESPACE} -e -t PARTITIONED -n 2", '"topicType": "partitioned"'),
    (
        f"namespaces set-inactive-topic-policies {NAMESPACE} -t 1h -e -m DELETE_WHEN_NO_SUBSCRIPTIONS",
        '"delete_when_no_subscriptions"',
    ),
    (f"namespaces set-offload-policies {NAMESPACE} -d FileSystem -orp Bookkeeper-First", '"bookkeeper-first"'),
    (f"namespaces set-schema-compatibility-strategy {NAMESPACE} -c backward", "BACKWARD"),
    (f"namespaces set-subscription-auth-mode {NAMESPACE} -m prefix", "Prefix"),
    (f"namespaces grant-permission {NAMESPACE} --role app --actions PRODUCE,Consume", '["produce", "consume"]'),
]


@pytest.mark.parametrize(("line", "sent"), LINES, ids=[line.split()[1] + str(n) for n, (line, _) in enumerate(LINES)])
def test_a_value_from_a_list_is_taken_in_any_case(cli_alone: Cli, line: str, sent: str) -> None:
    done = cli_alone(*line.split(), "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "")
    assert sent.replace(" ", "") in done.stdout.replace(" ", "")


def test_an_unknown_value_is_refused_with_those_that_there_are(cli_alone: Cli) -> None:
    done = cli_alone("namespaces", "set-backlog-quota", NAMESPACE, "-l", "1G", "-p", "drop", "--dry-run")
    assert done.exit_code == 2
    assert "unknown policy 'drop'" in done.stderr
    assert "producer_request_hold, producer_exception" in done.stderr


def test_an_output_format_is_taken_in_any_case(cli: Cli) -> None:
    assert cli("tenants", "list", "-o", "JSON").stdout == cli("tenants", "list", "-o", "json").stdout


@pytest.mark.parametrize("group", ["persistent", "non-persistent"])
def test_the_hidden_groups_of_pulsar_admin_are_topics(cli: Cli, group: str) -> None:
    topic = f"{group}://public/default/in-a-hidden-group"
    assert cli(group, "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    assert topic in cli(group, "list-partitioned-topics", NAMESPACE).stdout
    assert cli(group, "delete-partitioned-topic", topic).exit_code == 0
