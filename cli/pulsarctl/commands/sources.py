"""`pulsarctl sources`: connectors of a cluster that runs them."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.requests.installing import install_requests
from pulsarctl.verbs.requests.of_connectors import connector
from pulsarctl.verbs.requests.of_functions import COMMON, RESOURCES, Option

app = Noun("sources", "Deploy and manage source connectors.")

OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    ("--destination-topic-name", "topicName", str),
    ("--deserialization-classname", "serdeClassName", str),
    ("-st --schema-type", "schemaType", str),
    ("--producer-config", "producerConfig", dict),
    ("--batch-builder", "batchBuilder", str),
    ("--batch-source-config", "batchSourceConfig", dict),
    ("--source-config", "configs", dict),
)

install_requests(app, connector("source", OPTIONS, "--name copy --archive copy.nar --destination-topic-name out"))
