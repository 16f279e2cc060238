"""Why a replicator cannot go on. No client sees these: they are in the log and in the topic's stats."""


class CannotReplicate(Exception):
    """The reason, as a sentence without a period. The replicator tries again after a pause."""


class ConnectionLost(CannotReplicate):
    """The connection to the other cluster ended, or nothing could be connected to."""


class Refused(CannotReplicate):
    """The other cluster answered a request with an error. `code` is its ServerError."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


class ClosedThere(CannotReplicate):
    """The other cluster closed the producer: it unloads or deletes the topic."""


class DeletedThere(CannotReplicate):
    """The topic was deleted in the other cluster, and a replicator must not bring it back."""
