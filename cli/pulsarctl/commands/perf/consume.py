"""`pulsarctl perf consume`: receive messages with subscriptions and measure."""

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.commands.perf.connection import connected
from pulsarctl.commands.perf.final_record import conclude, use_format
from pulsarctl.consume.subscribing import Reach, Subscribing, has_backlog
from pulsarctl.perf import perf_options as options
from pulsarctl.perf.receiving import ConnectedSource, receiving_side
from pulsarctl.perf.running import Plan, Run
from pulsarctl.shell.arguments import BrokerTimeout, csv
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.positions import Latest

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging

app = Noun("perf", "")


@app.verb("consume")
def consume(
    call: Call,
    topics: options.Topics,
    num_topics: options.NumTopics = 1,
    subscriptions: options.Subscriptions = None,
    num_subscriptions: options.NumSubscriptions = 1,
    num_consumers: options.NumConsumers = 1,
    subscription_type: options.SubscriptionType = "Exclusive",
    subscription_position: options.SubscriptionPosition = "Latest",
    num_messages: options.NumMessages = 0,
    duration: options.Duration = "0",
    rate: options.ReceiveRate = 0,
    queue_size: options.QueueSize = 1000,
    exit_on_end: options.ExitOnEnd = False,
    interval: options.Interval = "10s",
    form: options.Format = None,
    timeout: BrokerTimeout = "30s",
) -> None:
    """Receive and acknowledge messages, and measure their throughput and their age.

    Consumes until -m, -e, -time, or Ctrl-C, and then prints the final record on stdout. The latency of a message is
    the time since it was published, in whole milliseconds and by the clocks of both machines. The subscriptions stay
    on the broker, as with pulsar-perf.

    Examples:
      pulsarctl perf consume load -time 60
      pulsarctl perf consume load -sp Earliest -e -o json
      pulsarctl perf consume load -ss work -st Shared -n 4 -m 100000

    Exit codes: 3 the topic does not exist and cannot be created, 5 no connection, or the connection was lost, 6 a
    subscription has another consumer.
    """
    as_csv = use_format(call, form)
    kind = options.subscription_type_of(subscription_type)
    options.check_consumers(num_consumers, kind)
    names = options.numbered(csv(subscriptions) or ["sub"], num_subscriptions, "subscriptions")
    from_earliest = options.is_earliest(subscription_position)
    consumers = [
        Subscribing(
            SubscribeOptions(name, kind, from_earliest=from_earliest, queue_size=queue_size),
            Reach(topic, end=Latest() if exit_on_end else None),
            is_temporary=False,
        )
        for topic in options.topics_of(topics, num_topics)
        for name in names
        for _ in range(num_consumers)
    ]
    wait = options.wait_of(timeout)
    plan = Plan(options.seconds_of(duration), options.seconds_of(interval), wait)
    with connected(call, wait) as client:
        opened = time.monotonic()
        sources = _subscribed(call, client, consumers)
        run = Run([receiving_side("consume", sources, num_messages, rate, opened)], plan, call.notice)
        measured = run.finish()
    conclude(call, run, measured, as_csv=as_csv)
    if not measured[0].counts.messages and not from_earliest:
        call.notice("0 messages: a new subscription starts after the last message; use -sp Earliest")


def _subscribed(call: Call, client: "Messaging", consumers: list[Subscribing]) -> list[ConnectedSource]:
    asking = threading.Lock()  # the connection of the admin client serves one thread at a time

    def is_behind(subscription: str, topic: str) -> bool | None:
        with asking:
            return has_backlog(call.admin, topic, subscription)

    return [
        (consumer.open(client, partial(is_behind, consumer.options.subscription)), consumer.all_connected)
        for consumer in consumers
    ]
