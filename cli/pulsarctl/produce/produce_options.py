"""The options of `produce`, and what they accept."""

from collections.abc import Mapping
from typing import Annotated

import typer

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.errors import UsageProblem
from pulsarctl.values.choice import choice, one_of
from pulsarctl.values.names import is_scalable

ACCESS_MODES = ("shared", "exclusive", "waitforexclusive", "exclusivewithfencing")
COMPRESSIONS = ("none", "lz4", "zlib", "zstd", "snappy")

Messages = Annotated[
    list[str] | None, typer.Option("-m", "--messages", metavar="TEXT", help="Message to send; may be repeated.")
]
Files = Annotated[
    list[str] | None,
    typer.Option("-f", "--files", metavar="FILE", help="File to send as one message; may be repeated."),
]
Lines = Annotated[
    str | None, typer.Option("-l", "--lines", metavar="FILE", help="File of messages, one per line; - is stdin.")
]
NumProduce = Annotated[int, typer.Option("-n", "--num-produce", min=1, help="Repeat all messages N times.")]
Separator = Annotated[
    str | None, typer.Option("-s", "--separator", metavar="TEXT", help="Split each -m into several messages at TEXT.")
]
Key = Annotated[str | None, typer.Option("-k", "--key", metavar="KEY", help="Key of every message.")]
KeyDelimiter = Annotated[
    str | None,
    typer.Option("-K", "--key-delimiter", metavar="TEXT", help="Split each message into key and value at TEXT."),
]
Properties = Annotated[
    list[str] | None,
    typer.Option("-p", "--properties", metavar="KEY=VALUE", help="Property of every message; may be repeated."),
]
Headers = Annotated[
    list[str] | None,
    typer.Option("-H", "--header", metavar="KEY:VALUE", help="Property in the notation of kcat; may be repeated."),
]
Tombstone = Annotated[
    bool, typer.Option("-Z", "--tombstone", help="Send empty values as null, so that compaction deletes the key.")
]
NullValue = Annotated[
    str | None, typer.Option("--null-value", metavar="TEXT", help="Send values equal to TEXT as null.")
]
OrderingKey = Annotated[
    str | None, typer.Option("--ordering-key", metavar="KEY", help="Ordering key of every message.")
]
EventTime = Annotated[
    str | None,
    typer.Option(
        "--event-time",
        metavar="TIME",
        help="Event time: -10m (ten minutes ago), ISO-8601 (in UTC without an offset), or milliseconds.",
    ),
]
DeliverAfter = Annotated[
    str | None,
    typer.Option(
        "--deliver-after", metavar="DURATION", help="Delay delivery by DURATION (Shared and Key_Shared only)."
    ),
]
DeliverAt = Annotated[
    str | None,
    typer.Option(
        "--deliver-at",
        metavar="TIME",
        help="Delay delivery until TIME, as in --event-time (Shared and Key_Shared only).",
    ),
]
Compression = Annotated[
    str,
    typer.Option(
        "-z",
        "--compression",
        metavar="KIND",
        autocompletion=choice(*COMPRESSIONS),
        help=f"Compression: {', '.join(COMPRESSIONS)}.",
    ),
]
DisableBatching = Annotated[bool, typer.Option("-db", "--disable-batching", help="Send each message in its own entry.")]
Chunking = Annotated[bool, typer.Option("-c", "--chunking", help="Split large messages into chunks.")]
Partition = Annotated[int | None, typer.Option("--partition", min=0, help="Send to one partition only.")]
ProducerName = Annotated[str | None, typer.Option("--producer-name", metavar="NAME", help="Name of the producer.")]
AccessMode = Annotated[
    str,
    typer.Option(
        "--access-mode",
        metavar="MODE",
        autocompletion=choice("Shared", "Exclusive", "WaitForExclusive", "ExclusiveWithFencing"),
        help="Access mode: Shared, Exclusive, WaitForExclusive, or ExclusiveWithFencing.",
    ),
]
SequenceId = Annotated[
    int | None,
    typer.Option("--sequence-id", min=0, help="Sequence ID of the first message; later messages increment it."),
]
DisableReplication = Annotated[
    bool, typer.Option("-dr", "--disable-replication", help="Do not replicate the messages to other clusters.")
]
EncryptionKeyName = Annotated[
    str | None,
    typer.Option("-ekn", "--encryption-key-name", metavar="NAME", help="Name of the key to encrypt messages for."),
]
EncryptionKeyValue = Annotated[
    str | None,
    typer.Option(
        "-ekv",
        "--encryption-key-value",
        metavar="KEY",
        help="Public key to encrypt messages with: a path, file:///PATH, env:NAME, or a data: URL.",
    ),
]
Schema = Annotated[
    str,
    typer.Option(
        "-vs",
        "--value-schema",
        "--schema",
        metavar="SCHEMA",
        help="Schema: bytes, string, avro:DEFINITION, json:DEFINITION (JSON or a file), or auto (the topic's).",
    ),
]
Transaction = Annotated[
    bool,
    typer.Option("--transaction", help="Publish all messages in one transaction: all of them, or none if any fails."),
]
TransactionTimeout = Annotated[
    str,
    typer.Option(
        "--transaction-timeout", metavar="DURATION", help="Time after which the broker aborts the transaction."
    ),
]
KeyValueKey = Annotated[str | None, typer.Option("-kvk", "--key-value-key", hidden=True)]
KeyValueKeyFile = Annotated[str | None, typer.Option("-kvkf", "--key-value-key-file", hidden=True)]
KeyValueEncoding = Annotated[str | None, typer.Option("-kvet", "--key-value-encoding-type", hidden=True)]
KeySchema = Annotated[str, typer.Option("-ks", "--key-schema", hidden=True)]


def parse_headers(headers: list[str] | None) -> dict[str, str]:
    properties = {}
    for header in headers or []:
        name, separator, value = header.partition(":")
        if not separator or not name:
            raise UsageProblem(f"'{header}' is not KEY:VALUE")
        properties[name] = value
    return properties


def parse_compression(name: str) -> str:
    return one_of(name, COMPRESSIONS, "compression")


def parse_access_mode(name: str) -> str:
    return one_of(name, ACCESS_MODES, "access mode")


def check_encryption(name: str | None, key: str | None) -> None:
    """Raises `UsageProblem` unless both are given, or neither: one alone would send messages in the clear."""
    if (name is None) != (key is None):
        raise UsageProblem("cannot encrypt with -ekn or -ekv alone", hint="use -ekn NAME -ekv PUBLIC_KEY")


def check_destination(topic: str, options: PublishOptions, *, transaction: bool, schema: str) -> None:
    """Raises `UsageProblem` for what messages of a scalable topic or of a transaction cannot have here."""
    special = {
        "--chunking": options.chunking,
        "-ekn": options.encryption_key_name is not None,
        "--access-mode": options.access_mode != "shared",
        "--sequence-id": options.first_sequence_id is not None,
    }
    if is_scalable(topic):
        _refuse(
            {"--transaction": transaction, **special, "--schema auto": schema == "auto"}, "use {} with a scalable topic"
        )
    elif transaction:
        _refuse(special, "combine --transaction and {}")
        check_persistent(topic)


def _refuse(options: Mapping[str, bool], action: str) -> None:
    for option, is_given in options.items():
        if is_given:
            raise UsageProblem(f"cannot {action.format(option)}")


def check_persistent(topic: str) -> None:
    """Raises `UsageProblem` for a topic that has no transactions. `topic` is a full name."""
    if topic.startswith("non-persistent:"):
        raise UsageProblem("cannot publish to a non-persistent topic in a transaction")
