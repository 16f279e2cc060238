"""Allowed differences between the answers of two brokers, each with its reason. Review the list when it grows."""

import contextlib
import json
import re
from typing import Any

# Members of JSON answers by name: the replacement of the value, and why it may differ.
MEMBERS = {
    "ledgerId": "a ledger's number is the broker's own choice",
    "cursorLedger": "Pulsar keeps each cursor in a ledger of its own, we keep them in the journal",
    "cursorLedgerLastEntry": "the same",
    "lastLedgerSwitchTimestamp": "a time",
    "lastLedgerCreatedTimestamp": "a time",
    "lastConsumedFlowTimestamp": "a time",
    "lastConsumedTimestamp": "a time",
    "lastAckedTimestamp": "a time",
    "lastMarkDeleteAdvancedTimestamp": "a time",
    "lastCompactionSucceedTimestamp": "a time",
    "lastCompactionDurationTimeInMills": "a duration",
    "publishTime": "a time",
    "timestamp": "a time",
    "waitingCursorsCount": "a moment's view: in Pulsar a cursor waits for a while after its reader has gone",
    "msgRateIn": "a rate: Pulsar brings them up to date once a minute",
    "msgRateOut": "the same",
    "msgThroughputIn": "the same",
    "msgThroughputOut": "the same",
    "messageAckRate": "the same",
    "averageMsgSize": "the same",
    "msgOutCounter": "how far a client has read ahead when it leaves depends on its speed",
    "bytesOutCounter": "the same",
}
# Members that only one of them has.
LEFT_OUT = {
    "backlogMessages": "Pulsar counts entries only",
    "topicCreationTimeStamp": "newer than Pulsar 4.0.7",
    "lastPublishTimeStamp": "newer than Pulsar 4.0.7",
    "brokerClientSslFactoryPlugin": "the name of a Java class",
}
# Text anywhere in the output.
TEXT = (
    (r"localhost:\d+", "localhost:PORT"),  # each listens on a free port
    (r"resetcursor/\d+", "resetcursor/TIME"),
    (r"moved to \d{4}-[\dT:.-]+Z", "moved to TIME"),  # a time in the past, counted back from when each was asked
    (r"waiting for messages; press Ctrl-C to stop\n", ""),  # shown after a second, which one of them may need
    (r"publishTime:\[\d+\]", "publishTime:[TIME]"),
    (r"\b\d+:(-?\d+):(-?\d+):(-?\d+)\b", r"L:\1:\2:\3"),  # message ids: the ledger's number
)
POSITION = re.compile(r"\b\d+:(-?\d+)\b")


def normalised(output: str) -> str:
    """The output with all allowed differences replaced; the order of JSON members stays."""
    documents = _documents(output)
    if documents:
        output = "\n".join(json.dumps(_value(document), indent=1) for document in documents)
    for pattern, replacement in TEXT:
        output = re.sub(pattern, replacement, output)
    return output


def _documents(output: str) -> list[Any]:
    """The JSON of an output: one document, or one in each line."""
    if not output.startswith(("{", "[")):
        return []
    for texts in ([output], output.splitlines()):
        with contextlib.suppress(ValueError):
            return [json.loads(text) for text in texts]
    return []


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        if "batchIndex" in value or all("-partition-" in key for key in value):
            value = dict(sorted(value.items()))  # Pulsar's order changes from run to run
        if isinstance(value.get("subscriptions"), dict):
            value = {**value, "subscriptions": dict(sorted(value["subscriptions"].items()))}  # by hashes of their names
        return {key: "*" if key in MEMBERS else _value(item) for key, item in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, str):
        return value if "://" in value else POSITION.sub(r"L:\1", value)
    return value
