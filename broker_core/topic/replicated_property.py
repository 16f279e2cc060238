"""Whether a subscription is replicated: a property of its cursor, as in Pulsar, which its users do not see."""

from collections.abc import Mapping

# Pulsar's name of this property of a cursor.
REPLICATED_PROPERTY = "pulsar.replicated.subscription"


def is_replicated(properties: Mapping[str, str]) -> bool:
    return REPLICATED_PROPERTY in properties


def without_replicated(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a subscription from those of its cursor."""
    return {key: value for key, value in properties.items() if key != REPLICATED_PROPERTY}


def with_replicated(properties: Mapping[str, str], *, replicated: bool) -> dict[str, str]:
    """The properties of a cursor from those of its subscription; what a client sends under our key does not count."""
    own = without_replicated(properties)
    return {**own, REPLICATED_PROPERTY: "true"} if replicated else own
