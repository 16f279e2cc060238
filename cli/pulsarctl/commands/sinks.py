"""`pulsarctl sinks`: connectors of a cluster that runs them."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.requests.installing import install_requests
from pulsarctl.verbs.requests.of_functions import (
    COMMON,
    RESOURCES,
    Option,
    check_identity,
    config_fields,
    form_of,
    identity,
    lifecycle,
)
from pulsarctl.verbs.requests.request import Request, Shown

app = Noun("sinks", "Deploy and manage connectors: sinks.")

ROOT = "//admin/v3/sinks"
OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    ("-i --inputs", "inputs", list),
    ("--topics-pattern", "topicsPattern", str),
    ("--custom-serde-inputs", "topicToSerdeClassName", dict),
    ("--custom-schema-inputs", "topicToSchemaType", dict),
    ("--input-specs", "inputSpecs", dict),
    ("--subs-name", "sourceSubscriptionName", str),
    ("--subs-position", "sourceSubscriptionPosition", str),
    ("--retain-ordering", "retainOrdering", bool),
    ("--retain-key-ordering", "retainKeyOrdering", bool),
    ("--auto-ack", "autoAck", str),
    ("--timeout-ms", "timeoutMs", int),
    ("--negative-ack-redelivery-delay-ms", "negativeAckRedeliveryDelayMs", int),
    ("--max-redeliver-count", "maxMessageRetries", int),
    ("--dead-letter-topic", "deadLetterTopic", str),
    ("--cleanup-subscription", "cleanupSubscription", bool),
    ("--transform-function", "transformFunction", str),
    ("--transform-function-classname", "transformFunctionClassName", str),
    ("--transform-function-config", "transformFunctionConfig", str),
    ("--sink-config", "configs", dict),
)
FIELDS = (
    *identity("sink"),
    *config_fields(OPTIONS, "--sink-config-file", (("-a", "--archive"), ("-t", "--sink-type"))),
)


def _builtin(given: dict[str, object]) -> None:
    check_identity(given)
    kind = given["sink_type"]
    if kind and not given["archive"]:
        given["archive"] = f"builtin://{kind}"


def _deploy(verb: str, method: str, summary: str) -> Request:
    return Request(
        verb,
        method,
        f"{ROOT}/{{tenant}}/{{ns}}/{{name}}",
        summary,
        "--name copy --archive copy.nar --inputs in",
        FIELDS,
        check=_builtin,
        payload=form_of(OPTIONS, "sinkConfig", ("archive",), verb == "update"),
    )


install_requests(
    app,
    (
        *lifecycle("sink", "sinks"),
        _deploy("create", "POST", "Deploy a sink."),
        _deploy("update", "PUT", "Change a sink."),
        Request("available-sinks", "GET", f"{ROOT}/builtinsinks", "List the builtin sinks.", "", (), Shown.VALUE),
        Request("reload", "POST", f"{ROOT}/reloadBuiltInSinks", "Load the builtin sinks again.", ""),
    ),
)
