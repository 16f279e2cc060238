"""One run of `consume --transaction`: after the last message is printed, all are acknowledged together."""

import contextlib
from contextlib import closing

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.consume.consuming import consume_all
from pulsarctl.consume.consumption import Consumption
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import OutcomeUnknown, Transaction, coordinator_connection
from pulsarctl.raw.transaction_consumer import ConsumerSettings, TransactionConsumer
from pulsarctl.settings.settings import Settings
from pulsarctl.stop_signals import undisturbed

TTL_SECONDS = 60.0  # the transaction begins after the last message, so it is short


def consume_together(settings: Settings, consumption: Consumption) -> int:
    """The number of messages. Raises `CliError` with nothing acknowledged, and `OutcomeUnknown`."""
    topic, stops, timeout_seconds = consumption.topic, consumption.stops, consumption.timeout_seconds
    lookup = TopicLookup(settings.service_url, timeout_seconds=timeout_seconds, security=settings)
    with closing(lookup):
        _check_one_partition(lookup, topic)
        coordinator_connection(lookup)  # fails before anything is printed
        consumer = TransactionConsumer(lookup, topic, _consumer_settings(consumption.options, stops.count))
        try:
            printed = consume_all(consumer, consumption.show, stops, rate=consumption.rate, quiet=settings.quiet)
            with undisturbed():
                _acknowledge(consumer, lookup, timeout_seconds)
        except OutcomeUnknown:
            raise
        except CliError as failure:
            failure.message += "; nothing was acknowledged"
            raise
        return printed


def _acknowledge(consumer: TransactionConsumer, lookup: TopicLookup, timeout_seconds: float) -> None:
    transaction = Transaction(lookup, ttl_seconds=TTL_SECONDS, timeout_seconds=timeout_seconds)
    try:
        consumer.acknowledge(transaction)
    except CliError:
        with contextlib.suppress(CliError):
            transaction.abort()
        raise
    transaction.commit()


def _check_one_partition(lookup: TopicLookup, topic: str) -> None:
    count = lookup.partitions(topic, create=True)
    if count:
        raise UsageProblem(
            f"cannot consume the {count} partitions of {topic} in a transaction", hint="choose one with --partition"
        )


def _consumer_settings(options: SubscribeOptions, count: int) -> ConsumerSettings:
    return ConsumerSettings(
        options.subscription, options.subscription_type, count, options.consumer_name, options.from_earliest
    )
