"""What a stream has committed: a topic for each query, so that a micro-batch that is repeated is stored once.

A task tells the log which transaction it begins. The driver writes into the transaction of each task that the task is
done, so this record is visible exactly if the transaction is committed. A driver that repeats a micro-batch first
aborts what earlier attempts left open, and reads the log up to a message of its own: no broker delivers that before all
transactions with earlier records have ended. Then it aborts the tasks that were committed before, and commits the
others. The subscription keeps the records of the last micro-batch.
"""

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pulsar

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.client.client_errors import problem
from pulsarctl.errors import CliError, Conflict
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.raw.transaction_producer import TransactionProducer
from pulsarctl.tables.writing.repeatable_producer import RETRY_SECONDS
from pulsarctl.tables.writing.task_transactions import abort, begun_transaction, still_open
from pulsarctl.tables.writing.write_options import WriteOptions
from pulsarctl.values.json_text import parse_json

SUBSCRIPTION = "spark"

Task = int
"""The number of a task in its micro-batch."""


class CommitLog:
    """`query` is the ID of the query, which it keeps as long as its checkpoint."""

    def __init__(self, options: WriteOptions, query: str) -> None:
        self._options = options
        self._access = options.access
        self._topic = f"{options.topic}-spark-{query}"

    def begun(self, batch: int, transaction: TransactionId) -> None:
        """Runs in a task, before the first message of the transaction. Raises `CliError`."""
        with closing(self._access.lookup()) as lookup, self._explained(), closing(self._access.client()) as client:
            producer = client.create_producer(self._name(lookup))
            producer.send(json.dumps({"batch": batch, "begun": transaction}).encode())

    def commit(self, batch: int, transactions: Mapping[Task, TransactionId], tasks: int) -> None:
        """Commits the tasks that no earlier attempt has committed. `tasks` counts those without rows, too.

        Raises `Conflict` for a part of a batch that was divided into other tasks, and `CliError`.
        """
        with closing(self._access.lookup()) as lookup:
            done = self._done(lookup, batch, set(transactions.values()))
            stored = self._stored(batch, done, tasks, transactions)
            for task, begun in sorted(transactions.items(), key=lambda item: item[1]):  # see `commit_all`
                transaction = begun_transaction(self._access, lookup, begun)
                if task in stored:
                    abort(transaction)
                else:
                    record = {"batch": batch, "done": task, "tasks": tasks, "count": len(transactions)}
                    with still_open(begun):
                        self._write(lookup, transaction, record)
                        transaction.commit()

    def abort(self, batch: int) -> None:
        """All transactions that are open. Raises `CliError`."""
        with closing(self._access.lookup()) as lookup:
            self._done(lookup, batch, set())

    def _stored(
        self, batch: int, done: list[dict[str, Any]], tasks: int, transactions: Mapping[Task, TransactionId]
    ) -> set[Task]:
        """The tasks that are committed."""
        if not done:
            return set()
        if len(done) == done[0]["count"]:
            return set(transactions)
        if done[0]["tasks"] != tasks:
            raise Conflict(
                f"cannot repeat micro-batch {batch}: an earlier run has committed {len(done)} of {done[0]['tasks']} "
                f"tasks, and now it has {tasks}",
                hint="run the query with as many tasks as before, until this micro-batch is done",
            )
        return {record["done"] for record in done}

    def _done(self, lookup: TopicLookup, batch: int, own: set[TransactionId]) -> list[dict[str, Any]]:
        """The records of the tasks of this batch. Forgets those of earlier batches. Aborts what is not `own`."""
        done = []
        with self._explained(), closing(self._access.client()) as client:
            name = self._name(lookup)
            consumer = self._subscribe(client, name)
            for message in self._up_to_now(client, name, consumer):
                record = parse_json(message.data())
                begun = TransactionId(*record["begun"]) if "begun" in record else None
                if begun is not None and begun not in own:
                    abort(begun_transaction(self._access, lookup, begun))
                if record["batch"] == batch and "done" in record:
                    done.append(record)
                elif record["batch"] < batch:
                    consumer.acknowledge(message)
            consumer.close()
        return done

    def _up_to_now(self, client: Any, name: str, consumer: Any) -> Iterator[Any]:
        """The messages before one that it publishes itself."""
        mark = secrets.token_hex(8)
        client.create_producer(name).send(json.dumps({"batch": -1, "mark": mark}).encode())
        wait_ms = round(self._access.timeout_seconds * 1000)
        while parse_json((message := consumer.receive(wait_ms)).data()).get("mark") != mark:
            yield message
        consumer.acknowledge(message)

    def _subscribe(self, client: Any, name: str) -> Any:
        """A driver that died may still hold the subscription: its connection ends soon."""
        deadline = time.monotonic() + self._access.timeout_seconds
        while True:
            try:
                return client.subscribe(name, SUBSCRIPTION, initial_position=pulsar.InitialPosition.Earliest)
            except pulsar.ConsumerBusy:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def _write(self, lookup: TopicLookup, transaction: Transaction, record: dict[str, Any]) -> None:
        most, least = transaction.id
        settings = ProducerSettings(f"{SUBSCRIPTION}-{most}-{least}", batching=False)
        with closing(TransactionProducer(self._access.lookup, self._name(lookup), transaction, settings)) as producer:
            producer.send(json.dumps(record).encode())
            producer.flush()

    def _name(self, lookup: TopicLookup) -> str:
        """Its order matters, so one partition is used where the broker creates topics with partitions."""
        return lookup.partition_names(self._topic)[0]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except pulsar.PulsarException as error:
            raise self._problem(type(error).__name__) from error

    def _problem(self, result: str) -> CliError:
        failure = problem(result, f"use {self._topic} for the commits of the query", self._access.service_url)
        failure.hint = "use transaction=false to write without transactions"
        return failure
