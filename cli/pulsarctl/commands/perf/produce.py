"""`pulsarctl perf produce`: publish a load and measure the acknowledgments."""

from dataclasses import replace
from datetime import timedelta

from pulsarctl.commands.perf.connection import connected
from pulsarctl.commands.perf.final_record import conclude, use_format
from pulsarctl.perf import perf_options as options
from pulsarctl.perf.load import Load
from pulsarctl.perf.partitions import create_partitioned
from pulsarctl.perf.payloads import keys_of
from pulsarctl.perf.publishing import bodies_of, open_producers, publish_options
from pulsarctl.perf.running import Plan, Run
from pulsarctl.produce.produce_options import Compression, DisableBatching, parse_access_mode
from pulsarctl.shell.arguments import BrokerTimeout
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("perf", "")


@app.verb("produce")
def produce(
    call: Call,
    topics: options.Topics,
    rate: options.SendRate = 100,
    size: options.Size = "1024",
    num_messages: options.NumMessages = 0,
    duration: options.Duration = "0",
    num_producers: options.NumProducers = 1,
    num_topics: options.NumTopics = 1,
    num_partitions: options.NumPartitions = 0,
    producer_name: options.ProducerName = None,
    access_mode: options.AccessMode = "Shared",
    outstanding: options.Outstanding = None,
    batch_delay: options.BatchDelay = 1,
    batch_messages: options.BatchMessages = 1000,
    batch_bytes: options.BatchBytes = "4M",
    disable_batching: DisableBatching = False,
    chunking: options.Chunking = False,
    compression: Compression = "none",
    delay: options.Delay = "0",
    warmup: options.Warmup = "1",
    payload_file: options.PayloadFile = None,
    payload_delimiter: options.PayloadDelimiter = r"\n",
    format_payload: options.FormatPayload = False,
    key_mode: options.KeyMode = None,
    exit_on_failure: options.ExitOnFailure = False,
    send_timeout: options.SendTimeout = "30s",
    interval: options.Interval = "10s",
    form: options.FormatOrOutstanding = None,
    timeout: BrokerTimeout = "30s",
) -> None:
    """Publish a load, and measure its throughput and the latency of its acknowledgments.

    Publishes until -m, -time, Ctrl-C, or SIGTERM, and then prints the final record on stdout. The latency of a message
    is the time from its sending to its acknowledgment. One thread sends for all producers; if the achieved rate stays
    below the offered one, start several commands to find the limit of the broker.

    Examples:
      pulsarctl perf produce load -r 1000 -time 60
      pulsarctl perf produce load -r 0 -m 100000 -s 4K -z lz4 -o json
      pulsarctl perf produce load -t 10 -n 2 -r 5000 -time 5m -mk random -o csv

    Exit codes: 3 the topic does not exist and cannot be created, 5 no connection, 10 some messages were not
    acknowledged. If none was, the code is that of the first refusal.
    """
    window, written = options.window_and_format(form, outstanding)
    as_csv = use_format(call, written)
    names = options.topics_of(topics, num_topics)
    wait, send_wait, batching = options.wait_of(timeout), options.wait_of(send_timeout), not disable_batching
    publishing = replace(
        publish_options(batch_delay, batch_messages, batch_bytes, compression, window, send_wait, batching=batching),
        chunking=chunking,
        producer_name=producer_name,
        access_mode=parse_access_mode(access_mode),
    )
    bodies = bodies_of(size, payload_file, payload_delimiter, are_numbered=format_payload)
    keys, later = keys_of(key_mode), timedelta(seconds=options.seconds_of(delay))
    warm_up = options.seconds_of(warmup)
    load = Load(bodies.__next__, keys, rate, num_messages, window, warm_up, exit_on_failure, later or None)
    plan = Plan(options.seconds_of(duration), options.seconds_of(interval), send_wait + 1)
    if num_partitions:
        create_partitioned(call.admin, names, num_partitions)
    with connected(call, wait) as client:
        from pulsarctl.perf.sending import sending_side

        side = sending_side(open_producers(client, names, num_producers, publishing), load)
        run = Run([side], plan, call.notice)
        measured = run.finish()
    conclude(call, run, measured, as_csv=as_csv)
