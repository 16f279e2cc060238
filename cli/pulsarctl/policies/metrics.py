"""The policy that says how the metrics of topics are labeled."""

from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.policy import Policy
from pulsarctl.shell.arguments import csv
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading


def metric_labels(
    call: Call,
    *,
    keys: Annotated[
        list[str],
        typer.Option("-k", "--keys", metavar="NAME,...", help="Comma-separated names of properties of topics."),
    ],
) -> list[str]:
    """Add properties of topics as labels to the metrics of these topics.

    Requires exposeCustomTopicMetricLabelsEnabled in the configuration of the broker, and Pulsar 4.2 or later.
    """
    return csv(keys)


OF_NAMESPACES = (
    Policy(
        Heading.METRICS,
        "allowed-topic-property-keys-for-metrics",
        "allowedTopicPropertyKeysForMetrics",
        metric_labels,
        "-k owner,team",
        value=values.NAMES,
        document="allowed_topic_property_keys_for_metrics",
    ),
)
OF_TOPICS: tuple[Policy, ...] = ()
