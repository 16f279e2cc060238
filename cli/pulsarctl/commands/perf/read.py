"""`pulsarctl perf read`: read messages without a subscription and measure."""

import time

from pulsarctl.commands.perf.connection import connected
from pulsarctl.commands.perf.final_record import conclude, use_format
from pulsarctl.perf import perf_options as options
from pulsarctl.perf.reading import ReaderSource
from pulsarctl.perf.receiving import receiving_side
from pulsarctl.perf.running import Plan, Run
from pulsarctl.shell.arguments import BrokerTimeout
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.message_ids import LATEST, parse_message_id

app = Noun("perf", "")


@app.verb("read")
def read(
    call: Call,
    topics: options.Topics,
    num_topics: options.NumTopics = 1,
    start_message_id: options.StartMessageId = "earliest",
    num_messages: options.NumToRead = 0,
    duration: options.Duration = "0",
    rate: options.ReceiveRate = 0,
    queue_size: options.QueueSize = 1000,
    exit_on_end: options.ExitOnEnd = False,
    interval: options.Interval = "10s",
    form: options.Format = None,
    timeout: BrokerTimeout = "30s",
) -> None:
    """Read messages without a subscription, and measure their throughput and their age.

    Reads until -n, -e, -time, or Ctrl-C, and then prints the final record on stdout. Each partition has a reader. The
    latency of a message is the time since it was published, in whole milliseconds and by the clocks of both machines;
    for old messages, it is their age.

    Examples:
      pulsarctl perf read load -e
      pulsarctl perf read load -m latest -time 60 -o json

    Exit codes: 3 the topic does not exist and cannot be created, 5 no connection, or the connection was lost.
    """
    as_csv = use_format(call, form)
    names = options.topics_of(topics, num_topics)
    start = parse_message_id(start_message_id)
    wait = options.wait_of(timeout)
    plan = Plan(options.seconds_of(duration), options.seconds_of(interval), wait)
    with connected(call, wait) as client:
        opened = time.monotonic()
        partitions = [partition for topic in names for partition in client.partitions(topic)]
        readers = [client.reader(partition, start, queue_size) for partition in partitions]
        sources = [(ReaderSource(reader, stops_at_end=exit_on_end), reader.is_connected) for reader in readers]
        run = Run([receiving_side("read", sources, num_messages, rate, opened)], plan, call.notice)
        measured = run.finish()
    conclude(call, run, measured, as_csv=as_csv)
    if not measured[0].counts.messages and start == LATEST:
        call.notice("0 messages: reading starts after the last message; use -m earliest")
