"""`pulsarctl sinks`: connectors of a cluster that runs them."""

from pulsarctl.requests.connectors import connector
from pulsarctl.requests.functions import COMMON, CONSUMING, RESOURCES, Option
from pulsarctl.requests.installing import install_requests
from pulsarctl.shell.grammar import Noun

app = Noun("sinks", "Deploy and manage sink connectors.")

OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    *CONSUMING,
    ("--custom-serde-inputs", "topicToSerdeClassName", dict, "SerDe class by input topic, as a JSON object."),
    ("--custom-schema-inputs", "topicToSchemaType", dict, "Schema type by input topic, as a JSON object."),
    ("--subs-name", "sourceSubscriptionName", str, "Name of the subscription to the input topics."),
    ("--subs-position", "sourceSubscriptionPosition", str, "Start of a new subscription: Latest or Earliest."),
    (
        "--negative-ack-redelivery-delay-ms",
        "negativeAckRedeliveryDelayMs",
        int,
        "Time before a failed message is redelivered, in milliseconds.",
    ),
    ("--max-redeliver-count", "maxMessageRetries", int, "Maximum number of retries for a message."),
    ("--cleanup-subscription", "cleanupSubscription", bool, "Delete the subscription together with the sink."),
    (
        "--transform-function",
        "transformFunction",
        str,
        "Function that transforms each message before the sink: a file, a URL, or a builtin.",
    ),
    ("--transform-function-classname", "transformFunctionClassName", str, "Class of the transform function."),
    ("--transform-function-config", "transformFunctionConfig", str, "Settings of the transform function."),
    ("--sink-config", "configs", dict, "Settings of the connector, as a JSON object."),
)

install_requests(app, connector("sink", OPTIONS, "--name copy --archive copy.nar --inputs in"))
