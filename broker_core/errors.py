"""Every error of the broker, as one tree.

    BrokerError
    ├── NotFound                          no object of that name
    │   └── TopicNotFound, SubscriptionNotFound, ConsumerNotFound
    ├── Conflict                          the state of an object forbids it
    │   └── LimitReached
    ├── PreconditionFailed, NotAcceptable, Unprocessable
    ├── InvalidName, InvalidRequest, InvalidValue
    ├── AuthenticationFailed, Unauthorized, Forbidden, NotAllowed
    ├── ConsumerBusy, ConsumerAssignFailed, ProducerBusy, ProducerFenced, ProducerHeld, ProducerBlocked
    ├── TopicTerminated (TopicMoved), TopicFenced, NotImplementedHere
    ├── UnknownListener, BrokerUnreachable, TargetRefused
    ├── ChecksumMismatch, PersistenceFailed, MetadataFailed, TooManyRequests
    ├── IncompatibleSchema, InvalidSchema
    ├── InvalidConfiguration              before the broker starts; no client sees it
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
    """A refusal that the client gets; `str(error)` is the reason."""

    server_error: ClassVar[ServerError] = ServerError.UNKNOWN_ERROR
    closes_connection: ClassVar[bool] = False

    @property
    def reason(self) -> str:
        """The reason, with a limit: it may quote the request, at any length."""
        text = str(self)
        return text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}..."


class ProtocolViolation(BrokerError):
    """The peer broke the protocol; the connection is closed (docs/reference/protocol.md "Connections")."""

    closes_connection = True


class NotFound(BrokerError):
    """There is no object of that name."""

    server_error = ServerError.TOPIC_NOT_FOUND


class TopicNotFound(NotFound):
    pass


class SubscriptionNotFound(NotFound):
    server_error = ServerError.SUBSCRIPTION_NOT_FOUND


class ConsumerNotFound(NotFound):
    server_error = ServerError.CONSUMER_NOT_FOUND


class Conflict(BrokerError):
    """The state of an object forbids the request: it exists, is not empty, or the same work is in progress."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class LimitReached(Conflict):
    """A limit on the number of objects is reached."""


class PreconditionFailed(BrokerError):
    """The request does not fit the object: its name, its kind, its policies, or its clients."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class NotAcceptable(BrokerError):
    """The broker, or this kind of topic, has nothing that the request could apply to."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class Unprocessable(BrokerError):
    """The request is valid, and the topic cannot follow it: partitions only grow, replicated topics need force."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class InvalidName(BrokerError):
    """A topic, namespace, tenant, or cluster name that cannot be parsed."""

    server_error = ServerError.INVALID_TOPIC_NAME


class InvalidRequest(BrokerError):
    """A request with invalid arguments."""

    server_error = ServerError.METADATA_ERROR


class AuthenticationFailed(BrokerError):
    """The client did not prove who it is; the reason never repeats its credentials."""

    server_error = ServerError.AUTHENTICATION_ERROR


class Unauthorized(BrokerError):
    """The client's role lacks a permission."""

    server_error = ServerError.AUTHORIZATION_ERROR


class Forbidden(BrokerError):
    """Refused because of the client or its location, whatever the request says."""

    server_error = ServerError.AUTHORIZATION_ERROR


class NotAllowed(BrokerError):
    """The operation does not apply to this type of topic, or a setting or limit forbids it."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class InvalidValue(BrokerError):
    """A value that its field cannot have."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class ConsumerBusy(BrokerError):
    server_error = ServerError.CONSUMER_BUSY


class ConsumerAssignFailed(BrokerError):
    """A Key_Shared consumer cannot have the hashes that it requests, or none is left."""

    server_error = ServerError.CONSUMER_ASSIGN_ERROR


class ProducerBusy(BrokerError):
    server_error = ServerError.PRODUCER_BUSY


class ProducerFenced(BrokerError):
    """The topic belongs to another producer, or did after this producer had it."""

    server_error = ServerError.PRODUCER_FENCED


class ProducerHeld(BrokerError):
    """The backlog exceeds its quota: the client retries until it has shrunk."""

    server_error = ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_ERROR


class ProducerBlocked(BrokerError):
    """The backlog exceeds its quota, and the client must give up its pending messages."""

    server_error = ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_EXCEPTION


class TopicTerminated(BrokerError):
    """The topic takes no more messages, ever."""

    server_error = ServerError.TOPIC_TERMINATED_ERROR


class TopicMoved(TopicTerminated):
    """The topic is in another cluster now; one of the two service URLs may be empty."""

    def __init__(self, reason: str, service_url: str, service_url_tls: str) -> None:
        super().__init__(reason)
        self.service_url = service_url
        self.service_url_tls = service_url_tls


class TopicFenced(BrokerError):
    """The topic is being loaded, unloaded, or deleted, or recovers from a failed write; try again."""

    server_error = ServerError.SERVICE_NOT_READY


class UnknownListener(BrokerError):
    """A lookup for a listener that the broker does not advertise."""

    server_error = ServerError.SERVICE_NOT_READY


class BrokerUnreachable(BrokerError):
    """The proxy cannot connect to the broker, or lost it."""

    server_error = ServerError.SERVICE_NOT_READY


class TargetRefused(BrokerError):
    """The proxy may not connect to that address for a client."""

    server_error = ServerError.SERVICE_NOT_READY


class NotImplementedHere(BrokerError):
    """Part of the API, but of a feature that this broker does not have."""

    server_error = ServerError.NOT_ALLOWED_ERROR


class IncompatibleSchema(BrokerError):
    """The schema may not follow the topic's schemas, or the topic requires a schema and there is none."""

    server_error = ServerError.INCOMPATIBLE_SCHEMA


class InvalidSchema(BrokerError):
    """The definition is not valid for its type."""

    server_error = ServerError.INCOMPATIBLE_SCHEMA


class TooManyRequests(BrokerError):
    server_error = ServerError.TOO_MANY_REQUESTS


class ChecksumMismatch(BrokerError):
    server_error = ServerError.CHECKSUM_ERROR


class PersistenceFailed(BrokerError):
    """The disk failed or is full; the reason says which."""

    server_error = ServerError.PERSISTENCE_ERROR


class MetadataFailed(BrokerError):
    server_error = ServerError.METADATA_ERROR


class InvalidConfiguration(BrokerError):
    """A setting that cannot be read or used; the reason names its key, its value, and its source."""
