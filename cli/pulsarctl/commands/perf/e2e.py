"""`pulsarctl perf e2e`: publish and consume a load in one run."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.commands.perf.connection import connected
from pulsarctl.commands.perf.final_record import conclude, use_format
from pulsarctl.consume.subscribing import Reach, Subscribing
from pulsarctl.errors import TimedOut
from pulsarctl.perf import perf_options as options
from pulsarctl.perf.load import Load
from pulsarctl.perf.payloads import keys_of
from pulsarctl.perf.publishing import body_of, open_producers, publish_options
from pulsarctl.perf.receiving import ConnectedSource
from pulsarctl.perf.record import Measured
from pulsarctl.perf.running import Plan, Run
from pulsarctl.perf.stamps import Stamps
from pulsarctl.produce.produce_options import Compression, DisableBatching
from pulsarctl.shell.arguments import BrokerTimeout
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging

app = Noun("perf", "")


@app.verb("e2e")
def e2e(
    call: Call,
    topics: options.Topics,
    rate: options.SendRate = 100,
    size: options.Size = "1024",
    num_messages: options.NumMessages = 0,
    duration: options.Duration = "0",
    num_producers: options.NumProducers = 1,
    num_topics: options.NumTopics = 1,
    outstanding: options.Outstanding = None,
    batch_delay: options.BatchDelay = 1,
    batch_messages: options.BatchMessages = 1000,
    batch_bytes: options.BatchBytes = "4M",
    disable_batching: DisableBatching = False,
    compression: Compression = "none",
    key_mode: options.KeyMode = None,
    subscription_type: options.SubscriptionType = "Exclusive",
    queue_size: options.QueueSize = 1000,
    warmup: options.Warmup = "1",
    interval: options.Interval = "10s",
    form: options.Format = None,
    timeout: BrokerTimeout = "30s",
) -> None:
    """Publish and consume a load in one run, and measure the latency from end to end.

    Each topic gets a consumer with a subscription that exists during the run. The final record has two parts: produce,
    with the latency of acknowledgments, and consume, with the time from sending to receiving by one clock, in
    microseconds. After the last message was sent, the run waits until all acknowledged messages have arrived.

    Examples:
      pulsarctl perf e2e load -r 1000 -time 30
      pulsarctl perf e2e load -r 500 -m 10000 -s 4K -db -o json

    Exit codes: 5 no connection, 7 an acknowledged message did not arrive within --timeout, 10 some messages were not
    acknowledged.
    """
    as_csv = use_format(call, form)
    names = options.topics_of(topics, num_topics)
    stamps = Stamps(body_of(size))
    wait, window, batching = options.wait_of(timeout), outstanding or options.OUTSTANDING, not disable_batching
    publishing = publish_options(batch_delay, batch_messages, batch_bytes, compression, window, wait, batching=batching)
    warm_up = options.seconds_of(warmup)
    load = Load(stamps.payload, keys_of(key_mode), rate, num_messages, window, warm_up)
    kind = options.subscription_type_of(subscription_type)
    details = SubscribeOptions(f"pulsarctl-perf-{secrets.token_hex(6)}", kind, queue_size=queue_size)
    seconds, every = options.seconds_of(duration), options.seconds_of(interval)
    with connected(call, wait) as client, _subscribed(client, names, details) as sources:
        from pulsarctl.perf.both_ends import BothEnds

        ends = BothEnds(open_producers(client, names, num_producers, publishing), load, wait, seconds)
        run = Run(ends.sides(sources, stamps), Plan(0, every, wait + 1, ends.is_over), call.notice)
        measured = run.finish()
    conclude(call, run, measured, as_csv=as_csv)
    if not run.is_interrupted:
        _check_arrived(measured, wait)


@contextmanager
def _subscribed(
    client: "Messaging", topics: Sequence[str], details: SubscribeOptions
) -> Iterator[list[ConnectedSource]]:
    """A consumer of each topic. The subscriptions exist until the end of the block."""
    consumers = [Subscribing(details, Reach(topic), is_temporary=True) for topic in topics]
    with ExitStack() as subscriptions:
        for consumer in consumers:
            subscriptions.enter_context(closing(consumer))
        yield [(consumer.open(client, lambda name: None), consumer.all_connected) for consumer in consumers]


def _check_arrived(measured: Sequence[Measured], wait_seconds: float) -> None:
    produced, consumed = (side.counts.messages for side in measured)
    if produced > consumed:
        raise TimedOut(f"{produced - consumed:,} acknowledged messages did not arrive within {wait_seconds:g} s")
