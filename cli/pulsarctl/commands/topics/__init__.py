"""`pulsarctl topics`: one file per kind of verb."""

from pulsarctl.commands.topics import compaction, lifecycle, properties, statistics, subscriptions
from pulsarctl.grammar import Noun
from pulsarctl.policies import install_topic_policies

app = Noun(
    "topics",
    "Create, list, inspect, compact and delete topics; their subscriptions and policies.",
    lifecycle.app,
    statistics.app,
    subscriptions.app,
    properties.app,
    compaction.app,
)
install_topic_policies(app)
