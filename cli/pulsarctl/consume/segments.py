"""One run of `consume` on a scalable topic, through our own connections: the official client does not support it.

Exclusive and Failover subscriptions have stream consumers, which share the segments and keep the order of each key.
Shared ones have queue consumers.
"""

import secrets
from collections.abc import Callable

from pulsarctl.client.reachability import check_answers
from pulsarctl.client.subscribe_options import Settlement, SubscribeOptions
from pulsarctl.consume.consume_options import official_only
from pulsarctl.consume.consuming import consume_all
from pulsarctl.consume.consumption import Consumption
from pulsarctl.errors import UsageProblem
from pulsarctl.raw.scalable.segment_consumer import ConsumerSettings
from pulsarctl.raw.scalable.segments_consumer import SegmentsConsumer
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.settings import Settings


def consume_segments(settings: Settings, consumption: Consumption, left: Callable[[], None]) -> int:
    """The number of messages. Calls `left` when a consumer that was open is closed.

    Raises what connecting raises, or the broker's refusal of the consumer.
    """
    timeout_seconds = consumption.timeout_seconds
    check_answers(settings, timeout_seconds)

    def lookup() -> TopicLookup:
        return TopicLookup(settings.service_url, timeout_seconds=timeout_seconds, security=settings)

    consumer = SegmentsConsumer(lookup, consumption.topic, _consumer_settings(consumption.options), timeout_seconds)
    try:
        return consume_all(consumer, consumption.show, consumption.stops, rate=consumption.rate, quiet=settings.quiet)
    finally:
        consumer.close()
        left()


def _consumer_settings(options: SubscribeOptions) -> ConsumerSettings:
    return ConsumerSettings(
        subscription=options.subscription,
        name=options.consumer_name or f"pulsarctl-{secrets.token_hex(6)}",
        is_shared=options.subscription_type == "shared",
        from_earliest=options.from_earliest,
        permits=options.queue_size,
        acknowledges=options.settlement is Settlement.ACKNOWLEDGE,
    )


def check_segments(consumption: Consumption, *, transaction: bool) -> None:
    """Raises `UsageProblem` for what consumers of a scalable topic cannot do here."""
    options = consumption.options
    refused = {
        "--transaction": transaction,
        "--nack": options.settlement is Settlement.NACK,
        **official_only(consumption),
        "-t Key_Shared": options.subscription_type == "key_shared",
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageProblem(f"cannot use {option} with a scalable topic")
