"""`pulsarctl sinks`: connectors of a cluster that runs them."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.requests.installing import install_requests
from pulsarctl.verbs.requests.of_connectors import connector
from pulsarctl.verbs.requests.of_functions import COMMON, RESOURCES, Option

app = Noun("sinks", "Deploy and manage sink connectors.")

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

install_requests(app, connector("sink", OPTIONS, "--name copy --archive copy.nar --inputs in"))
