"""`pulsarctl topics`: one file for each kind of verb."""

from pulsarctl.commands.topics import (
    compaction,
    copying,
    cursor,
    lifecycle,
    messages,
    offloading,
    partitions,
    placement,
    properties,
    statistics,
    subscriptions,
    termination,
)
from pulsarctl.commands.topics.request_table import ROWS
from pulsarctl.policies.installing import install_topic_policies
from pulsarctl.requests.installing import install_requests
from pulsarctl.shell.grammar import Noun

app = Noun(
    "topics",
    "Create, inspect, compact, and delete topics, and manage their subscriptions and policies.",
    lifecycle.app,
    partitions.app,
    termination.app,
    placement.app,
    statistics.app,
    subscriptions.app,
    cursor.app,
    messages.app,
    properties.app,
    compaction.app,
    offloading.app,
    copying.app,
)
install_requests(app, ROWS)
install_topic_policies(app)
