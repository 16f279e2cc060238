"""Pulsar's strategies of schema compatibility; `metadata.schema.compatibility` applies them. Pure."""

import enum


class Strategy(enum.StrEnum):
    ALWAYS_INCOMPATIBLE = "ALWAYS_INCOMPATIBLE"
    ALWAYS_COMPATIBLE = "ALWAYS_COMPATIBLE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.value.endswith("_TRANSITIVE")

    @property
    def reads_old(self) -> bool:
        """Whether the new schema has to read what the old ones wrote."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def read_by_old(self) -> bool:
        return self.value.startswith(("FORWARD", "FULL"))
