"""`pulsarctl sources`: connectors of a cluster that runs them."""

from pulsarctl.requests.connectors import connector
from pulsarctl.requests.functions import COMMON, RESOURCES, Option
from pulsarctl.requests.installing import install_requests
from pulsarctl.shell.grammar import Noun

app = Noun("sources", "Deploy and manage source connectors.")

OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    ("--destination-topic-name", "topicName", str, "Topic for the data of the source."),
    ("--deserialization-classname", "serdeClassName", str, "SerDe class of the source."),
    ("-st --schema-type", "schemaType", str, "Schema type or schema class of the messages."),
    ("--producer-config", "producerConfig", dict, "Settings of the producer, as a JSON object."),
    ("--batch-builder", "batchBuilder", str, "Batch builder of the producer: DEFAULT or KEY_BASED."),
    ("--batch-source-config", "batchSourceConfig", dict, "Settings of a batch source, as a JSON object."),
    ("--source-config", "configs", dict, "Settings of the connector, as a JSON object."),
)

install_requests(app, connector("source", OPTIONS, "--name copy --archive copy.nar --destination-topic-name out"))
