"""`pulsarctl topics`: one file per kind of verb."""

from pulsarctl.commands.topics import compaction, lifecycle, messages, properties, statistics, subscriptions
from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.policies import install_topic_policies
from pulsarctl.verbs.schema_policies import install_schema_policies_of_topics

app = Noun(
    "topics",
    "Create, list, inspect, compact and delete topics; their subscriptions and policies.",
    lifecycle.app,
    statistics.app,
    subscriptions.app,
    messages.app,
    properties.app,
    compaction.app,
)
install_topic_policies(app)
install_schema_policies_of_topics(app)
