"""`pulsarctl perf produce`: publish a load and measure the acknowledgments."""

from contextlib import closing
from datetime import timedelta

from pulsarctl.commands.perf.final_record import conclude, use_format
from pulsarctl.output import render
from pulsarctl.perf import perf_options as options
from pulsarctl.perf.payloads import keys_of
from pulsarctl.perf.tally import Tally
from pulsarctl.produce.produce_options import Compression, DisableBatching, parse_access_mode, parse_compression
from pulsarctl.shell.arguments import BrokerTimeout
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.stop_signals import orderly_end

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
    keys = keys_of(key_mode)
    kind, access = parse_compression(compression), parse_access_mode(access_mode)
    later = timedelta(seconds=options.seconds_of(delay))
    wait, send_wait = options.wait_of(timeout), options.wait_of(send_timeout)
    seconds, every, warm_up = (options.seconds_of(text) for text in (duration, interval, warmup))
    render.guard_stdout()
    call.with_resource(orderly_end())

    from pulsarctl.client.messaging import Messaging
    from pulsarctl.perf.load import Load
    from pulsarctl.perf.partitions import create_partitioned
    from pulsarctl.perf.publishing import bodies_of, open_producers, publish_options
    from pulsarctl.perf.running import Plan, Run, Side
    from pulsarctl.perf.sending import Sender

    bodies = bodies_of(size, payload_file, payload_delimiter, are_numbered=format_payload)
    publishing = publish_options(
        batching=not (disable_batching or chunking),
        delay_ms=batch_delay,
        messages=batch_messages,
        size=batch_bytes,
        compression=kind,
        pending=window,
        send_seconds=send_wait,
        chunking=chunking,
        producer_name=producer_name,
        access_mode=access,
    )
    load = Load(bodies.__next__, keys, rate, num_messages, window, warm_up, exit_on_failure, later or None)
    if num_partitions:
        create_partitioned(call.admin, names, num_partitions)
    tally = Tally()
    with closing(Messaging(call.settings, wait)) as client:
        sender = Sender(open_producers(client, names, num_producers, publishing), load, tally)
        run = Run([Side("produce", [sender], tally, rate)], Plan(seconds, every, send_wait + 1), call.notice)
        measured = run.finish()
    conclude(call, run, measured, as_csv=as_csv)
