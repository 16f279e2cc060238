"""How certain `explain` is, for figures of a broker that tests do not have."""

import pytest

from pulsarctl.diagnosis import delivery
from pulsarctl.diagnosis.evidence import OldestMessage, SubscriptionEvidence, TopicEvidence
from pulsarctl.facts.topic import sticky_hashes

TOPIC = TopicEvidence("persistent://public/default/orders", {}, {"lastConfirmedEntry": "1:5"}, 0, is_ours=False)


def key_stuck(held_back: int, in_replay: int, key: str) -> tuple[str, str]:
    """The certainty and the sentence, if the hash of the key `a` drains."""
    drained = {"hash": sticky_hashes("a")[1], "unackMsgs": 1, "blockedAttempts": held_back}
    consumer = {"consumerName": "first", "drainingHashes": [drained], "drainingHashesUnackedMessages": 1}
    stats = {"msgBacklog": 3, "msgInReplay": in_replay, "type": "Key_Shared", "consumers": [consumer]}
    oldest = OldestMessage("1:0", key=key, key_hashes=sticky_hashes(key))
    (found,) = delivery.key_stuck(SubscriptionEvidence(TOPIC, "billing", stats, oldest))
    return str(found.certainty), found.sentence


@pytest.mark.parametrize(
    ("held_back", "in_replay", "key", "certainty"),
    [
        (1, 0, "b", "exact"),  # the broker has held a message back
        (0, 1, "a", "exact"),  # the oldest message has the key, and others wait
        (0, 0, "a", "likely"),  # nothing is known to wait
        (0, 1, "b", "likely"),  # what waits may wait for something else
    ],
)
def test_a_stuck_key_is_certain_only_if_figures_prove_it(
    held_back: int, in_replay: int, key: str, certainty: str
) -> None:
    assert key_stuck(held_back, in_replay, key)[0] == certainty


def test_only_a_key_whose_hash_drains_is_named() -> None:
    assert "the key 'a'" in key_stuck(0, 1, "a")[1]
    assert "the key" not in key_stuck(0, 1, "b")[1]
