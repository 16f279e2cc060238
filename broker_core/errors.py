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

Each class has its code in the binary protocol, `ServerError`, which `server.connection` sends. `admin.statuses` has the
status that the admin API answers.
"""

from enum import IntEnum
from typing import ClassVar

REASON_MAX = 2000  # characters


class ServerError(IntEnum):
    """The error codes of the binary protocol (`ServerError` in PulsarApi.proto)."""

    UNKNOWN_ERROR = 0
    METADATA_ERROR = 1
    PERSISTENCE_ERROR = 2
    AUTHENTICATION_ERROR = 3
    AUTHORIZATION_ERROR = 4
    CONSUMER_BUSY = 5
    SERVICE_NOT_READY = 6
    PRODUCER_BLOCKED_QUOTA_EXCEEDED_ERROR = 7
    PRODUCER_BLOCKED_QUOTA_EXCEEDED_EXCEPTION = 8
    CHECKSUM_ERROR = 9
    UNSUPPORTED_VERSION_ERROR = 10
    TOPIC_NOT_FOUND = 11
    SUBSCRIPTION_NOT_FOUND = 12
    CONSUMER_NOT_FOUND = 13
    TOO_MANY_REQUESTS = 14
    TOPIC_TERMINATED_ERROR = 15
    PRODUCER_BUSY = 16
    INVALID_TOPIC_NAME = 17
    INCOMPATIBLE_SCHEMA = 18
    CONSUMER_ASSIGN_ERROR = 19
    TRANSACTION_COORDINATOR_NOT_FOUND = 20
    INVALID_TXN_STATUS = 21
    NOT_ALLOWED_ERROR = 22
    TRANSACTION_CONFLICT = 23
    TRANSACTION_NOT_FOUND = 24
    PRODUCER_FENCED = 25


class BrokerError(Exception):
    """A refusal that a client is told about; `str(error)` is the reason it reads."""

    server_error: ClassVar[ServerError] = ServerError.UNKNOWN_ERROR
    closes_connection: ClassVar[bool] = False

    @property
    def reason(self) -> str:
        """What was asked for may be quoted in it, at any length."""
        text = str(self)
        return text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}..."


class ProtocolViolation(BrokerError):
    """The peer broke the protocol; the connection is closed without an answer (docs/protocol.md "Connections")."""

    closes_connection = True


class TopicNotFound(BrokerError):
    server_error = ServerError.TOPIC_NOT_FOUND


class SubscriptionNotFound(BrokerError):
    server_error = ServerError.SUBSCRIPTION_NOT_FOUND


class ConsumerNotFound(BrokerError):
    server_error = ServerError.CONSUMER_NOT_FOUND


class ClusterNotFound(BrokerError):
    server_error = ServerError.METADATA_ERROR


class TenantNotFound(BrokerError):
    server_error = ServerError.TOPIC_NOT_FOUND


class NamespaceNotFound(BrokerError):
    server_error = ServerError.TOPIC_NOT_FOUND


class InvalidName(BrokerError):
    """A topic, namespace, tenant or cluster name that cannot be parsed."""

    server_error = ServerError.INVALID_TOPIC_NAME


class InvalidRequest(BrokerError):
    """A request whose arguments make no sense."""

    server_error = ServerError.METADATA_ERROR


class Forbidden(BrokerError):
    """Refused for who or where one is, whatever the request says."""

    server_error = ServerError.AUTHORIZATION_ERROR


class NotAllowed(BrokerError):
    """The operation makes no sense for this kind of topic, or a setting or limit forbids it."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class LimitReached(BrokerError):
    """As many as a limit allows are there already."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class NotAcceptable(BrokerError):
    """A number of partitions that is out of bounds."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class Conflict(BrokerError):
    """The thing exists already, or is in a state that does not allow this."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class PreconditionFailed(BrokerError):
    """A condition of the request does not hold."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class Unprocessable(BrokerError):
    """Understood, but cannot be done to the thing as it is."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class ConsumerBusy(BrokerError):
    server_error = ServerError.CONSUMER_BUSY


class ConsumerAssignFailed(BrokerError):
    """A Key_Shared consumer cannot have the hashes that it wants, or none is left."""

    server_error = ServerError.CONSUMER_ASSIGN_ERROR


class ProducerBusy(BrokerError):
    server_error = ServerError.PRODUCER_BUSY


class ProducerFenced(BrokerError):
    """The topic belongs to another producer, or did so since this one had it."""

    server_error = ServerError.PRODUCER_FENCED


class ProducerHeld(BrokerError):
    """The backlog exceeds its quota: the client tries again until it has shrunk."""

    server_error = ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_ERROR


class ProducerBlocked(BrokerError):
    """The backlog exceeds its quota, and the client is to give up what it has to send."""

    server_error = ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_EXCEPTION


class TopicTerminated(BrokerError):
    """The topic takes no more messages, ever."""

    server_error = ServerError.TOPIC_TERMINATED_ERROR


class TopicFenced(BrokerError):
    """The topic is being loaded, unloaded, deleted or recovers from a failed write; try again."""

    server_error = ServerError.SERVICE_NOT_READY


class UnknownListener(BrokerError):
    """A look-up for a listener that the broker does not advertise."""

    server_error = ServerError.SERVICE_NOT_READY


class NotImplementedHere(BrokerError):
    """Part of the API, but of a feature that this broker does not have."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class SchemaNotFound(BrokerError):
    server_error = ServerError.TOPIC_NOT_FOUND


class IncompatibleSchema(BrokerError):
    """The schema may not follow those that the topic has, or the topic wants one and none came."""

    server_error = ServerError.INCOMPATIBLE_SCHEMA


class InvalidSchema(BrokerError):
    """The definition makes no sense for its type."""

    server_error = ServerError.INCOMPATIBLE_SCHEMA


class TooManyRequests(BrokerError):
    server_error = ServerError.TOO_MANY_REQUESTS


class ChecksumMismatch(BrokerError):
    server_error = ServerError.CHECKSUM_ERROR


class PersistenceFailed(BrokerError):
    """The disk refused (failed, full); the reason says what."""

    server_error = ServerError.PERSISTENCE_ERROR


class MetadataFailed(BrokerError):
    server_error = ServerError.METADATA_ERROR


class InvalidConfiguration(BrokerError):
    """A setting that cannot be read or used; the reason names its key, its value and where it came from."""
