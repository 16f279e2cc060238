"""The tests that cannot pass in some runs of `make test-clients`, mostly because Apache Pulsar 4.0.7 behaves otherwise.

Such a run passes if these tests fail or are skipped, and all others pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tests.clients.tool_chains import FAILED, SKIPPED, Outcome

DIFFERENT = "different"


@dataclass(frozen=True)
class Run:
    """What the tests meet: Apache Pulsar or this broker, through a proxy or not, with TLS and a token or without."""

    real: bool
    proxied: bool
    secured: bool


@dataclass(frozen=True)
class Difference:
    """Tests that fail for the same reason, in all runs with Apache Pulsar, or only in those without a proxy."""

    reason: str
    tests: tuple[tuple[str, str], ...]  # client, and name as in an Outcome
    proxied: bool = True

    def applies(self, run: Run) -> bool:
        return run.real and (self.proxied or not run.proxied)


class NoOtherCluster(Difference):
    """The clients of these tests use another cluster, which some move to."""

    def applies(self, run: Run) -> bool:
        return run.real or run.secured


DIFFERENCES: tuple[Difference, ...] = (
    NoOtherCluster(
        "the tests have no other cluster of Apache Pulsar, and none with TLS",
        (
            ("Java", "MigrationTest.clientsFollowTheirTopicToAnotherCluster"),
            ("Java", "EntryMetadataTest.everyMessageHasItsIndexInTheTopicAndTheTimeOfTheBroker"),
            ("Go", "TestClientsFollowTheirTopicToAnotherCluster"),
            ("Node", "a producer of a topic that has moved is told the new address"),
        ),
    ),
    Difference(
        "after an unload, Apache Pulsar delivers a batch again as a whole, with what is acknowledged in it",
        (("Java", "BatchIndexAckTest.aPartlyAcknowledgedBatchSurvivesAnUnload"),),
    ),
    Difference(
        "Apache Pulsar counts the age of a backlog from the end of a ledger (see real_pulsar.py for the precise check)",
        (("Java", "BacklogQuotaTest.anAgeCountsToo"),),
    ),
    Difference(
        "Apache Pulsar forgets an ended transaction at once, so END_TXN that is sent again fails",
        (("Java", "TransactionsTest.aCommitThatIsSentAgainSucceeds"),),
    ),
    Difference(
        "Apache Pulsar cannot store the end of a transaction on a terminated topic, and tries again forever",
        (("Java", "TransactionsTest.aTransactionEndsOnATerminatedTopic"),),
    ),
    Difference(
        "Apache Pulsar closes the connection that sends a message of a transaction to a non-persistent topic",
        (("Java", "TransactionsTest.aNonPersistentTopicHasNoTransactions"),),
    ),
    Difference(
        "Apache Pulsar does not carry out single acknowledgments while another transaction acknowledges cumulatively",
        (("Java", "TransactionalAcknowledgementsTest.aSingleAcknowledgementBesideACumulativeOneIsNotLost"),),
    ),
    Difference(
        "Apache Pulsar delivers aborted messages of the Go client, which names no transaction in their metadata",
        (
            ("Go", "TestMessagesOfAnAbortedTransactionAreNeverSeen"),
            ("Go", "TestATransactionThatTimesOutIsAborted"),
            ("Go", "TestCompactionLeavesOutAbortedValues"),
            ("Go", "TestConsumingAndProducingIsOneStep"),
        ),
    ),
    Difference(
        "Apache Pulsar has OpenID Connect in a module of its own, and reads no bcrypt in `basicAuthConf`",
        (
            ("Java", "SecurityTest.eachMethodAdministers"),
            ("Java", "SecurityTest.eachMethodPublishesConsumesAndReads"),
            ("Go", "TestEachMethodAdministers"),
            ("Go", "TestEachMethodPublishesConsumesAndReads"),
            ("Node", "with a token of OAuth 2.0, messages arrive and topics are administered"),
            ("Node", "with a user and a password, topics are administered"),
        ),
        proxied=False,
    ),
    Difference(
        "Apache Pulsar answers wrong credentials with an authorization error, or only closes the connection",
        (
            ("Java", "SecurityTest.wrongCredentialsAreAnAuthenticationErrorAtOnce"),
            ("Go", "TestWrongCredentialsAreAnAuthenticationErrorAtOnce"),
        ),
        proxied=False,
    ),
)


def judged(outcomes: Iterable[Outcome], run: Run) -> Iterator[Outcome]:
    """The outcomes, with the expected failures as DIFFERENT. A test that passes in spite of its reason is a failure."""
    expected = {test: one.reason for one in DIFFERENCES if one.applies(run) for test in one.tests}
    for outcome in outcomes:
        reason = expected.get((outcome.client, outcome.test))
        if reason is None:
            yield outcome
        elif outcome.result in (FAILED, SKIPPED):
            yield replace(outcome, result=DIFFERENT, reason=reason)
        else:
            yield replace(outcome, result=FAILED, reason=f"passed: remove it from differences.py ({reason})")
