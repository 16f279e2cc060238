"""`pulsarctl transactions`: the transactions of a cluster."""

from collections.abc import Callable
from typing import Any

from pulsarctl.commands.transactions import tables
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import REQUIRED, Field, In, Request, Shown
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.quantities import parse_seconds

app = Noun("transactions", "Inspect and abort transactions.")

ROOT = "//admin/v3/transactions"
TOPIC = Field("persistent_topic", "Name of the topic.", ("-t", "--topic"), "TOPIC")
SUBSCRIPTION = Field(
    "sub_name", "Name of the subscription.", ("-s", "--subscription-name", "--sub-name"), "SUBSCRIPTION"
)
MOST = Field("most", "The higher half of the transaction ID.", ("-m", "--most-sig-bits"), "N", kind=int)
LEAST = Field("least", "The lower half of the transaction ID.", ("-l", "--least-sig-bits"), "N", kind=int)
METADATA = Field("metadata", "Include the metadata of the ledgers.", ("-m", "--metadata"), "", In.QUERY, bool, False)
WATER_MARKS = Field(
    "low", "Include the low-water marks.", ("-l", "--low-water-mark"), "", In.QUERY, bool, False, "lowWaterMarks"
)
ID = "-m 1 -l 2"


def _coordinator(place: In, default: Any = REQUIRED) -> Field:
    help = "Number of the coordinator." + ("" if default is REQUIRED else " Default: all.")
    return Field("coordinator", help, ("-c", "--coordinator-id"), "N", place, int, default, "coordinatorId")


def _show(
    name: str,
    path: str,
    summary: str,
    example: str,
    *fields: Field,
    in_table: Callable[[Any], Any] = tables.with_times,
    arranged: Callable[[Any], Any] | None = None,
) -> Request:
    return Request(
        name,
        "GET",
        f"{ROOT}/{path}",
        summary,
        example,
        fields,
        Shown.VALUE,
        arranged=arranged,
        in_table=in_table,
    )


install_requests(
    app,
    (
        _show("coordinators-list", "coordinators", "List the transaction coordinators.", ""),
        _show(
            "coordinator-stats",
            "coordinatorStats",
            "Show the stats of the coordinators.",
            "-c 0",
            _coordinator(In.QUERY, None),
            in_table=tables.coordinators,
        ),
        _show(
            "coordinator-internal-stats",
            "coordinatorInternalStats/{coordinator}",
            "Show the log of a coordinator.",
            "-c 0",
            _coordinator(In.PATH),
            METADATA,
        ),
        _show(
            "transaction-metadata",
            "transactionMetadata/{most}/{least}",
            "Show a transaction: its state, its topics, and its subscriptions.",
            ID,
            MOST,
            LEAST,
        ),
        _show(
            "transaction-in-buffer-stats",
            "transactionInBufferStats/{persistent_topic}/{most}/{least}",
            "Show what a transaction has published to a topic.",
            f"-t orders {ID}",
            TOPIC,
            MOST,
            LEAST,
        ),
        _show(
            "transaction-in-pending-ack-stats",
            "transactionInPendingAckStats/{persistent_topic}/{sub_name}/{most}/{least}",
            "Show what a transaction has acknowledged in a subscription.",
            f"-t orders -s billing {ID}",
            TOPIC,
            SUBSCRIPTION,
            MOST,
            LEAST,
        ),
        _show(
            "transaction-buffer-stats",
            "transactionBufferStats/{persistent_topic}",
            "Show the transactions of a topic.",
            "-t orders",
            TOPIC,
            WATER_MARKS,
            Field(
                "segments",
                "Include the segments.",
                ("-s", "--segment-stats"),
                "",
                In.QUERY,
                bool,
                False,
                "segmentStats",
            ),
        ),
        _show(
            "buffer-snapshot-internal-stats",
            "transactionBufferInternalStats/{persistent_topic}",
            "Show how the transaction buffer of a topic is stored.",
            "-t orders",
            TOPIC,
            METADATA,
        ),
        _show(
            "pending-ack-stats",
            "pendingAckStats/{persistent_topic}/{sub_name}",
            "Show the transactions that acknowledge messages of a subscription.",
            "-t orders -s billing",
            TOPIC,
            SUBSCRIPTION,
            WATER_MARKS,
        ),
        _show(
            "pending-ack-internal-stats",
            "pendingAckInternalStats/{persistent_topic}/{sub_name}",
            "Show how the pending acknowledgments of a subscription are stored.",
            "-t orders -s billing",
            TOPIC,
            SUBSCRIPTION,
            METADATA,
        ),
        _show(
            "position-stats-in-pending-ack",
            "positionStatsInPendingAck/{persistent_topic}/{sub_name}/{ledger}/{entry}",
            "Show whether a transaction has acknowledged a position.",
            "-t orders -s billing -l 5 -e 0",
            TOPIC,
            SUBSCRIPTION,
            Field("ledger", "Ledger of the position.", ("-l", "--ledger-id"), "N", kind=int),
            Field("entry", "Entry of the position.", ("-e", "--entry-id"), "N", kind=int),
            Field("batch", "Message of the batch.", ("-b", "--batch-index"), "N", In.QUERY, int, None, "batchIndex"),
        ),
        _show(
            "slow-transactions",
            "slowTransactions/{time}",
            "Show the transactions that have been open for longer than a time, the oldest first.",
            "-t 10s",
            Field(
                "time",
                "Minimum time that a transaction has been open.",
                ("-t", "--time"),
                "DURATION",
                read=lambda t: parse_seconds(t) * 1000,
            ),
            _coordinator(In.QUERY, None),
            in_table=tables.transactions,
            arranged=tables.oldest_first,
        ),
        Request(
            "abort-transaction",
            "POST",
            f"{ROOT}/abortTransaction/{{most}}/{{least}}",
            "Abort a transaction.",
            f"{ID} --yes",
            (MOST, LEAST),
            question="Abort transaction ({most},{least})?",
        ),
        Request(
            "scale-transactionCoordinators",
            "POST",
            f"{ROOT}/transactionCoordinator/replicas",
            "Increase the number of transaction coordinators.",
            "-r 32",
            (Field("replicas", "New number of coordinators.", ("-r", "--replicas"), "N", In.WHOLE, int),),
        ),
    ),
)
