"""Which properties of topics can be labels of the topics' metrics, in the configuration and in a policy (PIP-447)."""

import re
from collections.abc import Iterable

from broker_core.errors import InvalidRequest

OWN_LABELS = {
    *("cluster", "namespace", "topic", "subscription", "consumer_name", "producer_name", "producer_id"),
    *("remote_cluster", "reason", "quantile"),
}
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def labels_in(text: str) -> tuple[str, ...]:
    """The names in a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def check_labels(names: Iterable[str]) -> None:
    """Raises `InvalidRequest` for a name that Prometheus refuses, and for a label that metrics already have."""
    for name in names:
        if not _LABEL.fullmatch(name):
            raise InvalidRequest(f"Label name '{name[:60]}' is invalid: must match the regex {_LABEL.pattern}")
        if name in OWN_LABELS:
            raise InvalidRequest(f"Label name '{name}' is invalid: the broker has a label of this name")
