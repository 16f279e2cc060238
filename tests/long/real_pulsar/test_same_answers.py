"""The same command lines against our broker and against Apache Pulsar: same output, same exit code, same reason.

The steps depend on each other and run once, in order, on each broker; then one test compares each step.
"""

import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.steps import Answers, check_same, numbered, run_on_both

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]

STEPS = """
clusters list
clusters list -o json
clusters get nix
brokers healthcheck
tenants create both
tenants create both
tenants list -o jsonl
tenants get both
tenants update both -r alice
tenants get both -o yaml
tenants get nix
tenants update nix -r bob
namespaces create both/ns
namespaces create both/ns
namespaces create nix/ns
namespaces list both
namespaces list nix
namespaces policies both/ns
namespaces policies both/nix
namespaces bundles both/ns
namespaces get-message-ttl both/ns
namespaces set-message-ttl both/ns -ttl 2h
namespaces set-message-ttl both/ns -ttl -5
namespaces get-message-ttl both/ns
namespaces get-retention both/ns
namespaces set-retention both/ns -t 1h -s 10M
namespaces set-retention both/ns -t 0 -s 10M
namespaces get-retention both/ns
namespaces set-compaction-threshold both/ns -t 10M
namespaces get-compaction-threshold both/ns
namespaces policies both/ns
namespaces remove-message-ttl both/ns
namespaces remove-compaction-threshold both/ns
namespaces get-message-ttl both/ns
namespaces get-clusters both/ns
namespaces get-properties both/ns
namespaces set-properties both/ns -p a=b,c=d
namespaces get-properties both/ns
namespaces clear-properties both/ns
namespaces permissions both/ns
topics create both/ns/plain
topics create both/ns/plain
topics create both/nix/t
topics create-partitioned both/ns/parted -p 3
topics create-partitioned both/ns/parted -p 3
topics create-partitioned both/ns/zero -p 0
topics create both/ns/parted
topics list both/ns
topics list both/ns -o table
topics list both/nix
topics list-partitioned both/ns
namespaces topics both/ns
topics get-partitioned-topic-metadata both/ns/parted
topics get-partitioned-topic-metadata both/ns/plain
topics get-partitioned-topic-metadata both/ns/nix
topics update-partitioned both/ns/parted -p 4
topics update-partitioned both/ns/parted -p 2
topics update-partitioned both/ns/plain -p 2
topics create-missed-partitions both/ns/parted
topics create-subscription both/ns/plain -s sub -m earliest
topics create-subscription both/ns/plain -s sub
topics create-subscription both/ns/parted -s sub
topics subscriptions both/ns/plain
topics subscriptions both/ns/parted
topics subscriptions both/ns/nix
produce both/ns/plain -m one -m two -k key -p a=b --producer-name writer
produce both/ns/plain -m Grüße -db --producer-name writer
produce both/nix/t -m lost
consume both/ns/plain -p Earliest -e
consume both/ns/plain -p Earliest -e -o text
consume both/ns/plain -p Earliest -e -o jsonl
consume both/ns/plain -p Earliest -e -F '%k=%v %h{%k:%v} %p\\n'
consume both/ns/plain -p Earliest -e --hex
consume both/ns/plain -s sub -e -o jsonl
read both/ns/plain -m earliest -e
read both/ns/plain -m earliest -e -o jsonl
topics stats both/ns/plain
topics stats both/ns/plain -gpb -etb
topics stats both/ns/parted
consume both/ns/plain -p Earliest -n 2 -mp
read both/ns/plain -m earliest -n 1 -F '%v\\n'
topics stats both/ns/nix
topics partitioned-stats both/ns/parted
topics partitioned-stats both/ns/parted --per-partition
topics partitioned-stats both/ns/plain
topics stats-internal both/ns/plain
topics stats-internal both/ns/nix
topics last-message-id both/ns/plain
topics last-message-id both/ns/parted
topics lookup both/ns/plain
topics partitioned-lookup both/ns/parted
topics bundle-range both/ns/plain
topics compaction-status both/ns/plain
topics compact both/ns/plain --wait
topics compaction-status both/ns/plain
topics compaction-status both/ns/plain -o json
topics compaction-status both/ns/parted
topics compact both/ns/parted --wait --if-over 1M
topics compact both/ns/nix
topics get-retention both/ns/plain
topics set-retention both/ns/plain -t 2h -s 1G
topics get-retention both/ns/plain -ap
topics remove-retention both/ns/plain
topics set-message-ttl both/ns/plain -t 1m
topics get-message-ttl both/ns/plain
topics remove-message-ttl both/ns/plain
topics get-message-ttl both/ns/plain
topics get-message-ttl both/ns/plain -ap
topicPolicies set-compaction-threshold both/ns/plain -t 1M
topicPolicies get-compaction-threshold both/ns/plain
topicPolicies remove-compaction-threshold both/ns/plain
topicPolicies get-compaction-threshold both/ns/plain -ap
topics get-retention both/ns/nix
topics reset-cursor both/ns/plain -s sub -m earliest
topics reset-cursor both/ns/plain -s nix -t 1h
topics reset-cursor both/ns/parted -s sub -m latest
topics skip both/ns/plain -s sub -n 1
topics skip both/ns/parted -s sub -n 1
topics clear-backlog both/ns/plain -s sub
topics clear-backlog both/ns/plain -s nix
subscriptions seek both/ns/plain sub -t 1h
topics get-properties both/ns/plain
topics update-properties both/ns/plain -p owner=alice -p team=x
topics remove-properties both/ns/plain -k team
topics get-properties both/ns/plain
topics update-subscription-properties both/ns/plain -s sub -p owner=bob
topics get-subscription-properties both/ns/plain -s sub
topics get-subscription-properties both/ns/plain -s nix
topics permissions both/ns/plain
topics get-backlog-size both/ns/plain
topics trim both/ns/nix
topics unload both/ns/plain
topics unload both/ns/nix
topics unsubscribe both/ns/plain -s nix
topics unsubscribe both/ns/plain -s sub
namespaces remove-retention both/ns
namespaces get-retention both/ns
namespaces delete both/ns
tenants delete both
topics delete-partitioned-topic both/ns/plain
topics delete both/ns/plain
topics delete both/ns/plain
topics delete both/ns/parted
topics list both/ns
namespaces delete both/ns
namespaces delete both/ns
tenants delete both
tenants delete both
""".strip().splitlines()


@pytest.fixture(scope="module")
def answers(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return run_on_both(STEPS, java_pulsar, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("index", range(len(STEPS)), ids=numbered(STEPS))
def test_the_answer_is_the_same(answers: Answers, index: int) -> None:
    check_same(answers, index)


def test_enough_verbs_of_enough_nouns_are_compared() -> None:
    verbs = {tuple(step.split()[:2]) if step.split()[0] not in ALONE else (step.split()[0],) for step in STEPS}
    assert len(verbs) >= 50
    assert len({verb[0] for verb in verbs}) >= 9


ALONE = ("produce", "consume", "read")
