"""The headings under which a noun's help lists its verbs, in this order.

Headings of policies are listed by `NOUN policies --help`, with one line each in the noun's own help: a policy has a
verb to get, to set, and to remove it, and a hundred lines hide the ten that most people need.
"""

from enum import StrEnum


class Heading(StrEnum):
    LIFECYCLE = "Lifecycle"
    PARTITIONS = "Partitions"
    MESSAGES = "Messages"
    SUBSCRIPTIONS = "Subscriptions"
    STATISTICS = "Statistics"
    COMPACTION = "Compaction"
    TIERED = "Tiered storage"
    PLACEMENT = "Brokers and bundles"
    PROPERTIES = "Properties and permissions"
    POLICIES = "Policies"
    STORAGE = "Storage policies"
    OFFLOAD = "Tiered storage policies"
    DELIVERY = "Delivery policies"
    RATES = "Rate limits"
    LIMITS = "Limits"
    CREATION = "Creation and deletion policies"
    SCHEMA = "Schema policies"
    METRICS = "Metrics policies"

    @property
    def is_of_policies(self) -> bool:
        """Whether the verbs under the heading get, set, and remove policies."""
        return self in OF_POLICIES


OF_POLICIES = (
    Heading.STORAGE,
    Heading.OFFLOAD,
    Heading.DELIVERY,
    Heading.RATES,
    Heading.LIMITS,
    Heading.CREATION,
    Heading.SCHEMA,
    Heading.METRICS,
)
