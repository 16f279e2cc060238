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

Each class declares its code in the binary protocol, which `server.connection` sends, and its HTTP status, which
`admin.results` answers. A class that declares neither has those of the class above it.
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
    """A refusal that the client gets; `str(error)` is the reason. `status` is the HTTP status in Pulsar's admin API."""

    server_error: ClassVar[ServerError] = ServerError.UNKNOWN_ERROR
    status: ClassVar[int] = 500
    closes_connection: ClassVar[bool] = False

    def __init_subclass__(cls, *, server_error: ServerError | None = None, status: int | None = None) -> None:
        super().__init_subclass__()
        if server_error is not None:
            cls.server_error = server_error
        if status is not None:
            cls.status = status

    @property
    def reason(self) -> str:
        """The reason, with a limit: it may quote the request, at any length."""
        text = str(self)
        return text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}..."


class ProtocolViolation(BrokerError, status=400):
    """The peer broke the protocol; the connection is closed (docs/reference/protocol.md "Connections")."""

    closes_connection = True


class NotFound(BrokerError, server_error=ServerError.TOPIC_NOT_FOUND, status=404):
    """No object has that name."""


class TopicNotFound(NotFound):
    pass


class SubscriptionNotFound(NotFound, server_error=ServerError.SUBSCRIPTION_NOT_FOUND):
    pass


class ConsumerNotFound(NotFound, server_error=ServerError.CONSUMER_NOT_FOUND):
    pass


class Conflict(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=409):
    """The state of an object forbids the request: it exists, is not empty, or the same work is in progress."""


class LimitReached(Conflict):
    """A limit on the number of objects is reached."""


class PreconditionFailed(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=412):
    """The request does not fit the object: its name, its kind, its policies, or its clients."""


class NotAcceptable(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=406):
    """The broker, or this kind of topic, has nothing that the request could apply to."""


class Unprocessable(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=422):
    """The request is valid, and the topic cannot follow it: partitions only grow, replicated topics need force."""


class InvalidName(BrokerError, server_error=ServerError.INVALID_TOPIC_NAME, status=412):
    """A topic, namespace, tenant, or cluster name that cannot be parsed."""


class InvalidRequest(BrokerError, server_error=ServerError.METADATA_ERROR, status=400):
    """A request with invalid arguments."""


class AuthenticationFailed(BrokerError, server_error=ServerError.AUTHENTICATION_ERROR, status=401):
    """The client did not prove who it is; the reason never repeats its credentials."""


class Unauthorized(BrokerError, server_error=ServerError.AUTHORIZATION_ERROR, status=401):
    """The client's role lacks a permission."""


class Forbidden(BrokerError, server_error=ServerError.AUTHORIZATION_ERROR, status=403):
    """Refused because of the client or its location, whatever the request says."""


class NotAllowed(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=405):
    """The operation does not apply to this type of topic, or a setting or limit forbids it."""


class InvalidValue(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=412):
    """A value that its field cannot have."""


class ConsumerBusy(BrokerError, server_error=ServerError.CONSUMER_BUSY, status=412):
    pass


class ConsumerAssignFailed(BrokerError, server_error=ServerError.CONSUMER_ASSIGN_ERROR, status=409):
    """A Key_Shared consumer cannot have the hashes that it requests, or none is left."""


class ProducerBusy(BrokerError, server_error=ServerError.PRODUCER_BUSY, status=412):
    pass


class ProducerFenced(BrokerError, server_error=ServerError.PRODUCER_FENCED, status=409):
    """The topic belongs to another producer, or did after this producer had it."""


class ProducerHeld(BrokerError, server_error=ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_ERROR, status=412):
    """The backlog exceeds its quota: the client retries until it has shrunk."""


class ProducerBlocked(BrokerError, server_error=ServerError.PRODUCER_BLOCKED_QUOTA_EXCEEDED_EXCEPTION, status=412):
    """The backlog exceeds its quota, and the client must give up its pending messages."""


class TopicTerminated(BrokerError, server_error=ServerError.TOPIC_TERMINATED_ERROR, status=409):
    """The topic takes no more messages, ever."""


class TopicMoved(TopicTerminated):
    """The topic is in another cluster now; one of the two service URLs may be empty."""

    def __init__(self, reason: str, service_url: str, service_url_tls: str) -> None:
        super().__init__(reason)
        self.service_url = service_url
        self.service_url_tls = service_url_tls


class TopicFenced(BrokerError, server_error=ServerError.SERVICE_NOT_READY, status=503):
    """The topic is being loaded, unloaded, or deleted, or recovers from a failed write; try again."""


class UnknownListener(BrokerError, server_error=ServerError.SERVICE_NOT_READY, status=500):
    """A lookup for a listener that the broker does not advertise."""


class BrokerUnreachable(BrokerError, server_error=ServerError.SERVICE_NOT_READY, status=502):
    """The proxy cannot connect to the broker, or lost it."""


class TargetRefused(BrokerError, server_error=ServerError.SERVICE_NOT_READY, status=403):
    """The proxy may not connect to that address for a client."""


class NotImplementedHere(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=501):
    """Part of the API, but of a feature that this broker does not have."""


class IncompatibleSchema(BrokerError, server_error=ServerError.INCOMPATIBLE_SCHEMA, status=409):
    """The schema may not follow the topic's schemas, or the topic requires a schema and there is none."""


class InvalidSchema(BrokerError, server_error=ServerError.INCOMPATIBLE_SCHEMA, status=422):
    """The definition is not valid for its type."""


class TooManyRequests(BrokerError, server_error=ServerError.TOO_MANY_REQUESTS, status=429):
    pass


class TransactionsDisabled(BrokerError, server_error=ServerError.NOT_ALLOWED_ERROR, status=503):
    pass


class TransactionCoordinatorNotFound(
    BrokerError, server_error=ServerError.TRANSACTION_COORDINATOR_NOT_FOUND, status=404
):
    pass


class TransactionNotFound(BrokerError, server_error=ServerError.TRANSACTION_NOT_FOUND, status=404):
    """It never was, or it has ended."""


class InvalidTransactionStatus(BrokerError, server_error=ServerError.INVALID_TXN_STATUS, status=409):
    """The transaction is ending in another way."""


class TransactionConflict(BrokerError, server_error=ServerError.TRANSACTION_CONFLICT, status=409):
    """A message is acknowledged already, perhaps by another transaction that is open."""


class ChecksumMismatch(BrokerError, server_error=ServerError.CHECKSUM_ERROR, status=400):
    pass


class PersistenceFailed(BrokerError, server_error=ServerError.PERSISTENCE_ERROR, status=500):
    """The disk failed or is full; the reason says which."""


class MetadataFailed(BrokerError, server_error=ServerError.METADATA_ERROR, status=500):
    pass


class InvalidConfiguration(BrokerError):
    """A setting that cannot be read or used; the reason names its key, its value, and its source."""
