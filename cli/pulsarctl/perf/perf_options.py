"""The options of the `perf` commands, with the names of pulsar-perf, and what they accept."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.values.choice import choice
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import parse_duration

OUTSTANDING = 1000
TYPES = ("exclusive", "shared", "failover", "key_shared")

Topics = Annotated[list[str], typer.Argument(metavar="TOPIC", help="Topics to measure.")]
NumTopics = Annotated[
    int, typer.Option("-t", "--num-topics", min=1, help="Number of topics; one name gets the suffixes -0, -1, ...")
]
SendRate = Annotated[
    float, typer.Option("-r", "--rate", min=0, help="Messages per second over all topics; 0 means no limit.")
]
ReceiveRate = Annotated[
    float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second of each thread; 0 means no limit.")
]
Size = Annotated[str, typer.Option("-s", "--size", metavar="SIZE", help="Size of each message, such as 1024 or 4K.")]
NumMessages = Annotated[int, typer.Option("-m", "--num-messages", min=0, help="Number of messages; 0 means no limit.")]
NumToRead = Annotated[int, typer.Option("-n", "--num-messages", min=0, help="Number of messages; 0 means no limit.")]
Duration = Annotated[
    str, typer.Option("-time", "--test-duration", metavar="DURATION", help="Stop after DURATION; 0 is never.")
]
NumProducers = Annotated[int, typer.Option("-n", "--num-producers", min=1, help="Number of producers of each topic.")]
NumPartitions = Annotated[
    int,
    typer.Option(
        "-np", "--partitions", min=0, help="Create the topics with this number of partitions; 0 creates none."
    ),
]
ProducerName = Annotated[
    str | None,
    typer.Option(
        "-pn", "--producer-name", metavar="NAME", help="Name of the producers; several get the suffixes -0, -1, ..."
    ),
]
AccessMode = Annotated[
    str,
    typer.Option(
        "-am",
        "--access-mode",
        metavar="MODE",
        autocompletion=choice("Shared", "Exclusive", "WaitForExclusive", "ExclusiveWithFencing"),
        help="Access mode: Shared, Exclusive, WaitForExclusive, or ExclusiveWithFencing.",
    ),
]
Chunking = Annotated[
    bool, typer.Option("-ch", "--chunking", help="Send messages that are too large in chunks, and none in batches.")
]
Delay = Annotated[
    str,
    typer.Option("-d", "--delay", metavar="DURATION", help="Delay the delivery to Shared and Key_Shared consumers."),
]
FormatPayload = Annotated[
    bool,
    typer.Option(
        "-fp",
        "--format-payload",
        help="Replace %i in each message by its number, and %t by the time in nanoseconds.",
    ),
]
Outstanding = Annotated[
    int | None,
    typer.Option(
        "--max-outstanding",
        metavar="N",
        min=1,
        help=f"Messages of a producer that await an acknowledgment. Default: {OUTSTANDING}.",
    ),
]
BatchDelay = Annotated[
    float, typer.Option("-b", "--batch-time-window", metavar="MS", min=0, help="Time to collect a batch; 0 is none.")
]
BatchMessages = Annotated[int, typer.Option("-bm", "--batch-max-messages", min=1, help="Messages of a batch.")]
BatchBytes = Annotated[
    str, typer.Option("-bb", "--batch-max-bytes", metavar="SIZE", help="Size of a batch, such as 128K.")
]
Warmup = Annotated[
    str,
    typer.Option("--warmup-time", metavar="DURATION", help="Time at the start whose latencies do not count."),
]
PayloadFile = Annotated[
    str | None, typer.Option("-f", "--payload-file", metavar="FILE", help="File of messages to send in turn.")
]
PayloadDelimiter = Annotated[
    str, typer.Option("-e", "--payload-delimiter", metavar="TEXT", help="Separator of the messages of -f.")
]
KeyMode = Annotated[
    str | None,
    typer.Option(
        "-mk",
        "--message-key-generation-mode",
        metavar="MODE",
        autocompletion=choice("autoIncrement", "random"),
        help="Keys of the messages: autoIncrement or random.",
    ),
]
ExitOnFailure = Annotated[
    bool, typer.Option("-ef", "--exit-on-failure", help="Stop after the first message that is not acknowledged.")
]
SendTimeout = Annotated[
    str, typer.Option("--send-timeout", metavar="DURATION", help="Time after which a message has failed.")
]
Interval = Annotated[
    str,
    typer.Option("--report-interval", metavar="DURATION", help="Time between the lines on stderr; 0 is no lines."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        "--output-format",
        metavar="FORMAT",
        autocompletion=choice(*Output, "csv"),
        help="Format of the final record: auto, table, text, json, jsonl, yaml, or csv.",
    ),
]
FormatOrOutstanding = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        "--output-format",
        metavar="FORMAT",
        autocompletion=choice(*Output, "csv"),
        help="Format of the final record: auto, table, text, json, jsonl, yaml, or csv. "
        "A number is --max-outstanding, as in pulsar-perf.",
    ),
]
Subscriptions = Annotated[
    list[str] | None,
    typer.Option("-ss", "--subscriptions", "-s", metavar="NAMES", help="Names of the subscriptions. Default: sub."),
]
NumSubscriptions = Annotated[
    int,
    typer.Option("-ns", "--num-subscriptions", min=1, help="Number of subscriptions; one name gets -0, -1, ..."),
]
NumConsumers = Annotated[
    int, typer.Option("-n", "--num-consumers", min=1, help="Number of consumers of each subscription.")
]
SubscriptionType = Annotated[
    str,
    typer.Option(
        "-st",
        "--subscription-type",
        metavar="TYPE",
        autocompletion=choice("Exclusive", "Shared", "Failover", "Key_Shared"),
        help="Type of the subscriptions: Exclusive, Shared, Failover, or Key_Shared.",
    ),
]
SubscriptionPosition = Annotated[
    str,
    typer.Option(
        "-sp",
        "--subscription-position",
        metavar="WHERE",
        autocompletion=choice("Latest", "Earliest"),
        help="Start of a new subscription: Latest or Earliest.",
    ),
]
QueueSize = Annotated[int, typer.Option("-q", "--receiver-queue-size", min=1, help="Messages to fetch ahead.")]
StartMessageId = Annotated[
    str, typer.Option("-m", "--start-message-id", metavar="ID", help="Message to start at: earliest, latest, or L:E.")
]
ExitOnEnd = Annotated[
    bool, typer.Option("-e", "--exit-on-end", help="Stop when all existing messages have been received.")
]


def seconds_of(text: str) -> float:
    """A duration, or a number of seconds with a fraction, which pulsar-perf has. Raises `UsageProblem`."""
    integer, point, fraction = text.strip().partition(".")
    if point and integer.isdecimal() and fraction.isdecimal():
        return float(text)
    seconds = parse_duration(text)
    if seconds < 0:
        raise UsageProblem(f"the duration {text} is negative", hint="use 10s, 5m, or 0")
    return seconds


def wait_of(text: str) -> float:
    """A deadline, which cannot be 0. Raises `UsageProblem`."""
    seconds = seconds_of(text)
    if not seconds:
        raise UsageProblem("cannot use a timeout of 0: the command could wait forever", hint="use 30s or more")
    return seconds


def numbered(names: list[str], count: int, noun: str) -> list[str]:
    """The names, or one name with `count` suffixes. Raises `UsageProblem`."""
    if len(names) == 1 and count > 1:
        return [f"{names[0]}-{index}" for index in range(count)]
    if count not in (1, len(names)):
        raise UsageProblem(f"cannot use {len(names)} names for {count} {noun}", hint=f"give 1 or {count} names")
    if len(set(names)) < len(names):
        raise UsageProblem(f"a name is given twice for the {noun}")
    return names


def window_and_format(texts: list[str] | None, outstanding: int | None) -> tuple[int, str | None]:
    """The values of `-o`: a number is `--max-outstanding`, as in pulsar-perf, and a word is the output format."""
    windows = [int(text) for text in texts or [] if text.isdecimal()]
    if outstanding:
        windows.append(outstanding)
    formats = [text for text in texts or [] if not text.isdecimal()]
    if len(windows) > 1 or len(formats) > 1:
        raise UsageProblem("-o is given twice", hint="use -o FORMAT and --max-outstanding N")
    if windows == [0]:
        raise UsageProblem("a producer needs room for 1 message", hint="use --max-outstanding 1 or more")
    return windows[0] if windows else OUTSTANDING, formats[0] if formats else None


def topics_of(names: list[str], count: int) -> list[str]:
    return numbered([full_topic(name) for name in names], count, "topics")


def subscription_type_of(text: str) -> str:
    if text.lower() not in TYPES:
        raise UsageProblem(f"unknown subscription type '{text}'", hint="use Exclusive, Shared, Failover, or Key_Shared")
    return text.lower()


def check_consumers(count: int, subscription_type: str) -> None:
    """Raises `UsageProblem` before a second consumer is refused."""
    if count > 1 and subscription_type == "exclusive":
        raise UsageProblem(
            "an Exclusive subscription has one consumer", hint="use -st Shared, Failover, or Key_Shared with -n"
        )


def is_earliest(position: str) -> bool:
    if position.lower() not in ("latest", "earliest"):
        raise UsageProblem(f"unknown position '{position}'", hint="use Latest or Earliest")
    return position.lower() == "earliest"
