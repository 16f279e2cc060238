"""Everything that can go wrong in the broker, as one tree.

    BrokerError
    ├── TopicNotFound, SubscriptionNotFound, ConsumerNotFound
    ├── ClusterNotFound, TenantNotFound, NamespaceNotFound
    ├── InvalidName, InvalidRequest, Forbidden, NotAllowed, NotAcceptable, Conflict,
    │   PreconditionFailed, Unprocessable, LimitReached
    ├── ConsumerBusy, ConsumerAssignFailed, ProducerBusy, ProducerFenced, TopicTerminated, TopicFenced,
    │   NotImplementedHere
    ├── UnknownListener
    ├── ChecksumMismatch, PersistenceFailed, MetadataFailed, TooManyRequests
    ├── ProducerHeld, ProducerBlocked
    ├── SchemaNotFound, IncompatibleSchema, InvalidSchema
    ├── InvalidConfiguration              before the broker starts; no client ever sees it
    └── ProtocolViolation                 the only one that closes the connection

Each class carries its `ServerError` number (Pulsar binary protocol, enum ServerError) and its HTTP status
(admin REST API), so that `connection` and `admin.app` each translate in one place.
"""

from typing import ClassVar

REASON_MAX = 2000  # characters


class BrokerError(Exception):
    """A refusal that a client is told about; `str(error)` is the reason it reads."""

    server_error: ClassVar[int] = 0  # UnknownError
    http_status: ClassVar[int] = 500
    closes_connection: ClassVar[bool] = False

    @property
    def reason(self) -> str:
        """What was asked for may be quoted in it, at any length."""
        text = str(self)
        return text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}..."


class ProtocolViolation(BrokerError):
    """The peer broke the protocol; the connection is closed without an answer (docs/protocol.md "Connections")."""

    http_status = 400
    closes_connection = True


class TopicNotFound(BrokerError):
    server_error = 11
    http_status = 404


class SubscriptionNotFound(BrokerError):
    server_error = 12
    http_status = 404


class ConsumerNotFound(BrokerError):
    server_error = 13
    http_status = 404


class ClusterNotFound(BrokerError):
    server_error = 1
    http_status = 404


class TenantNotFound(BrokerError):
    server_error = 11
    http_status = 404


class NamespaceNotFound(BrokerError):
    server_error = 11
    http_status = 404


class InvalidName(BrokerError):
    """A topic, namespace, tenant or cluster name that cannot be parsed."""

    server_error = 17
    http_status = 412


class InvalidRequest(BrokerError):
    """A request whose arguments make no sense (HTTP 400)."""

    server_error = 1
    http_status = 400


class Forbidden(BrokerError):
    """Refused for who or where one is, whatever the request says (HTTP 403)."""

    server_error = 4
    http_status = 403


class NotAllowed(BrokerError):
    """The operation makes no sense for this kind of topic, or a setting or limit forbids it."""

    server_error = 22
    http_status = 405


class LimitReached(BrokerError):
    """As many as a limit allows are there already (HTTP 409)."""

    server_error = 22
    http_status = 409


class NotAcceptable(BrokerError):
    """A number of partitions that is out of bounds (HTTP 406)."""

    server_error = 22
    http_status = 406


class Conflict(BrokerError):
    """The thing exists already, or is in a state that does not allow this (HTTP 409)."""

    server_error = 22
    http_status = 409


class PreconditionFailed(BrokerError):
    """A condition of the request does not hold (HTTP 412)."""

    server_error = 22
    http_status = 412


class Unprocessable(BrokerError):
    """Understood, but cannot be done to the thing as it is (HTTP 422)."""

    server_error = 22
    http_status = 422


class ConsumerBusy(BrokerError):
    server_error = 5
    http_status = 412


class ConsumerAssignFailed(BrokerError):
    """A Key_Shared consumer cannot have the hashes that it wants, or none is left."""

    server_error = 19
    http_status = 409


class ProducerBusy(BrokerError):
    server_error = 16
    http_status = 412


class ProducerFenced(BrokerError):
    """The topic belongs to another producer, or did so since this one had it."""

    server_error = 25
    http_status = 409


class ProducerHeld(BrokerError):
    """The backlog exceeds its quota: the client tries again until it has shrunk."""

    server_error = 7
    http_status = 412


class ProducerBlocked(BrokerError):
    """The backlog exceeds its quota, and the client is to give up what it has to send."""

    server_error = 8
    http_status = 412


class TopicTerminated(BrokerError):
    """The topic takes no more messages, ever."""

    server_error = 15
    http_status = 409


class TopicFenced(BrokerError):
    """The topic is being loaded, unloaded, deleted or recovers from a failed write; try again."""

    server_error = 6
    http_status = 503


class UnknownListener(BrokerError):
    """A look-up for a listener that the broker does not advertise (HTTP 500, as Pulsar's)."""

    server_error = 6  # ServiceNotReady
    http_status = 500


class NotImplementedHere(BrokerError):
    """Part of the API, but of a feature that this broker does not have (HTTP 501)."""

    server_error = 22
    http_status = 501


class SchemaNotFound(BrokerError):
    server_error = 11
    http_status = 404


class IncompatibleSchema(BrokerError):
    """The schema may not follow those that the topic has, or the topic wants one and none came."""

    server_error = 18
    http_status = 409


class InvalidSchema(BrokerError):
    """The definition makes no sense for its type."""

    server_error = 18
    http_status = 422


class TooManyRequests(BrokerError):
    server_error = 14
    http_status = 429


class ChecksumMismatch(BrokerError):
    server_error = 9
    http_status = 400


class PersistenceFailed(BrokerError):
    """The disk refused (failed, full); the reason says what."""

    server_error = 2
    http_status = 500


class MetadataFailed(BrokerError):
    server_error = 1
    http_status = 500


class InvalidConfiguration(BrokerError):
    """A setting that cannot be read or used; the reason names its key, its value and where it came from."""
