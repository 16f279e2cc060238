"""The policy verbs of namespaces and topics on our broker and on Apache Pulsar."""

from collections.abc import Iterable

import pytest

from tests.cli.policies.policy_lines import BOTH, OF_NAMESPACES, OF_TOPICS
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.steps import Answers, check_same, numbered, run_on_both

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]


def steps(noun: str, place: str, lines: Iterable[tuple[str, str, str]]) -> list[str]:
    """Each policy is set, shown, and removed."""
    found = []
    for policy, flags, _ in lines:
        verbs = [f"set-{policy} {place} {flags}", f"get-{policy} {place}", f"remove-{policy} {place}"]
        found += [f"{noun} {verb}" for verb in (*verbs, f"get-{policy} {place}")]
    return [step for step in found if "remove-encryption-required" not in step]


REFUSED = """
namespaces set-max-producers-per-topic law/ns -p -1
namespaces set-max-topics-per-namespace law/ns -t -1
namespaces set-subscription-expiration-time law/ns -t -1
namespaces set-deduplication-snapshot-interval law/ns -i -1
namespaces set-persistence law/ns -e 2 -w 5 -a 2
namespaces set-auto-topic-creation law/ns -e -t partitioned -n 0
namespaces set-auto-topic-creation law/ns -e -t partitioned
namespaces set-auto-topic-creation law/ns -e -n 3
namespaces set-retention law/ns -t 1h -s 10M
namespaces set-backlog-quota law/ns -l 10M -p producer_exception
namespaces set-backlog-quota law/ns -l 9M -p producer_exception
namespaces set-retention law/ns -t 1h -s 9M
namespaces get-backlog-quotas law/ns
namespaces policies law/ns
namespaces get-publish-rate law/nix
topics set-max-producers law/ns/t -p -1
topics set-max-consumers-per-subscription law/ns/t -c -1
topics set-max-unacked-messages-per-consumer law/ns/t -m -1
topics set-max-message-size law/ns/t -m 1G
topics set-subscription-dispatch-rate law/ns/t -md 5 -s sub
topics get-subscription-dispatch-rate law/ns/t -s sub
topics remove-subscription-dispatch-rate law/ns/t -s sub
topics get-max-producers law/ns/t -ap
topics get-backlog-quotas law/ns/t -ap
topics get-max-unacked-messages-per-consumer law/ns/t -ap
topics get-inactive-topic-policies law/ns/t -ap
topics get-delayed-delivery law/ns/t -ap
topics get-dispatch-rate law/ns/t -ap
topics get-subscribe-rate law/ns/t -ap
topics get-max-producers law/ns/nix
""".strip().splitlines()

STEPS = [
    "tenants create law",
    "namespaces create law/ns",
    "topics create law/ns/t",
    *steps("namespaces", "law/ns", [*BOTH, *OF_NAMESPACES]),
    *steps("topics", "law/ns/t", [*BOTH, *OF_TOPICS]),
    *REFUSED,
]


@pytest.fixture(scope="module")
def answers(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return run_on_both(STEPS, java_pulsar, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("index", range(len(STEPS)), ids=numbered(STEPS))
def test_the_answer_is_the_same(answers: Answers, index: int) -> None:
    check_same(answers, index)
