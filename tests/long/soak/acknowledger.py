"""One consumer over all topics that acknowledges each message: `python -m tests.long.soak.acknowledger URL TOPIC...`.

`report` answers with what it received from each topic. It reports a message that is redelivered after its
acknowledgment, with the time of that acknowledgment: a crash may lose only the last second of them.
"""

import json
import sys
import threading
import time
from typing import Any

import pulsar

from tests.long.soak.sequence import Sequence, number_of
from tests.support.official_client import connect

SUBSCRIPTION = "soak"
REMEMBERED_ROUNDS = 2

Id = tuple[int, int, int]


class Acknowledger:
    def __init__(self, url: str, topics: list[str]) -> None:
        self._client = connect(url)
        self._consumer = self._client.subscribe(topics, SUBSCRIPTION, initial_position=pulsar.InitialPosition.Earliest)
        self._lock = threading.Lock()
        self._sequences = {topic: Sequence() for topic in topics}
        self._highest: dict[str, Id] = dict.fromkeys(topics, (-1, -1, -1))
        self._rounds: list[dict[tuple[str, Id], float]] = [{}]  # when each message was acknowledged, by round
        self._forgotten: list[float] = []  # acknowledged at this time and redelivered
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            message = self._consumer.receive()
            with self._lock:
                self._note(message)
            self._consumer.acknowledge(message)

    def _note(self, message: pulsar.Message) -> None:
        topic = message.topic_name().rpartition("/")[2]
        position = message.message_id()
        id_ = (position.ledger_id(), position.entry_id(), position.batch_index())
        self._sequences[topic].see(number_of(message.data()))
        if id_ <= self._highest[topic]:
            known = [times[topic, id_] for times in self._rounds if (topic, id_) in times]
            self._forgotten.append(max(known, default=0.0))
        self._highest[topic] = max(id_, self._highest[topic])
        self._rounds[-1][topic, id_] = time.time()

    def report(self) -> dict[str, Any]:
        with self._lock:
            forgotten, self._forgotten = self._forgotten, []
            return {
                "following": {topic: sequence.following for topic, sequence in self._sequences.items()},
                "gaps": sum(sequence.gaps for sequence in self._sequences.values()),
                "forgotten": forgotten,
            }

    def next_round(self) -> None:
        with self._lock:
            self._rounds = [*self._rounds[-(REMEMBERED_ROUNDS - 1) :], {}]


def main() -> None:
    acknowledger = Acknowledger(sys.argv[1], sys.argv[2:])
    for line in sys.stdin:
        if line == "round\n":
            acknowledger.next_round()
        else:
            print(json.dumps(acknowledger.report()), flush=True)


if __name__ == "__main__":
    main()
