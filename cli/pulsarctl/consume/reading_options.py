"""The options that `consume` and `read` share."""

from typing import Annotated

import typer

from pulsarctl.values.choice import choice, one_of

TO_HELP = "Stop after this position: latest, L:E, a TIME, or -10m (ten minutes ago)."
To = Annotated[str | None, typer.Option("--to", metavar="POSITION", help=TO_HELP)]
NumMessages = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--num-messages",
        min=0,
        help="Number of messages; 0 means no limit. Default: 1, or no limit with -e, --to, or --idle-timeout.",
    ),
]
ExitOnEnd = Annotated[
    bool, typer.Option("-e", "--exit-on-end", help="Stop after the message that is last when the command starts.")
]
IdleTimeout = Annotated[
    str,
    typer.Option(
        "--idle-timeout", "--timeout", metavar="DURATION", help="Stop after DURATION without a message; 0 is never."
    ),
]
PrintMetadata = Annotated[
    bool, typer.Option("-mp", "--print-metadata", help="Print the metadata of each message, too.")
]
Hex = Annotated[bool, typer.Option("--hex", help="Print each message as a hex dump.")]
HideContent = Annotated[bool, typer.Option("--hide-content", help="Print only the number of messages.")]
Compacted = Annotated[bool, typer.Option("--compacted", help="Read the compacted topic: the last message of each key.")]
MaxChunked = Annotated[int, typer.Option("-mc", "--max_chunked_msg", min=0, hidden=True)]
AckChunked = Annotated[bool, typer.Option("-ac", "--auto_ack_chunk_q_full", hidden=True)]
DecryptionKey = Annotated[
    str | None,
    typer.Option(
        "-ekv",
        "--encryption-key-value",
        metavar="PRIVATE-KEY",
        help="Private key to decrypt messages with: a path, file:///PATH, env:NAME, or a data: URL.",
    ),
]
CryptoFailureAction = Annotated[
    str,
    typer.Option(
        "-ca",
        "--crypto-failure-action",
        metavar="ACTION",
        autocompletion=choice("fail", "discard", "consume"),
        help="Action for a message that cannot be decrypted: fail, discard, or consume (show the encrypted bytes).",
    ),
]
SchemaType = Annotated[
    str,
    typer.Option(
        "-st",
        "--schema-type",
        "--schema",
        metavar="KIND",
        autocompletion=choice("bytes", "auto_consume"),
        help="Schema to decode messages with: bytes (none), or auto_consume (the topic's).",
    ),
]
CRYPTO_FAILURE_ACTIONS = ("fail", "discard", "consume")
PoolMessages = Annotated[str, typer.Option("-pm", "--pool-messages", hidden=True)]
ConnectTimeout = Annotated[
    str,
    typer.Option(
        "--connect-timeout", metavar="DURATION", help="Maximum time to wait for the broker before messages arrive."
    ),
]


def crypto_failure_action_of(text: str) -> str:
    return one_of(text, CRYPTO_FAILURE_ACTIONS, "crypto failure action")
