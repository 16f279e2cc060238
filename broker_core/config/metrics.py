"""The content of `/metrics`. Each level multiplies its lines: topics, and the producers and consumers of each."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class MetricsConfig:
    """The level of detail of `/metrics`."""

    topics: bool = setting(
        "exposeTopicLevelMetricsInPrometheus",
        True,
        "Whether /metrics shows each topic; if not, it shows the sums of each namespace.",
    )
    consumers: bool = setting(
        "exposeConsumerLevelMetricsInPrometheus", False, "Whether /metrics also shows each consumer."
    )
    producers: bool = setting(
        "exposeProducerLevelMetricsInPrometheus", False, "Whether /metrics also shows each producer."
    )
    backlog_age: bool = setting(
        "exposeSubscriptionBacklogAgeInPrometheus",
        False,
        "Whether /metrics shows the age of each subscription's backlog; a scrape may read it from disk.",
    )
    property_labels: bool = setting(
        "exposeCustomTopicMetricLabelsEnabled",
        False,
        "Whether the metrics of a topic have labels from its properties.",
    )
    property_keys: str = setting(
        "allowedTopicPropertyKeysForMetrics",
        "",
        "Properties of topics that become labels, separated by commas; a namespace can have its own.",
    )
