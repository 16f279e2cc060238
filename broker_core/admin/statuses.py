"""The HTTP status of each error, as Pulsar's admin API has it: only this module turns errors into statuses."""

from __future__ import annotations

from broker_core.admin.body_memory import NoRoom
from broker_core.admin.exchange import BodyBroken, BodyTooLarge, BodyTooSlow
from broker_core.errors import (
    AuthenticationFailed,
    BrokerError,
    BrokerUnreachable,
    ChecksumMismatch,
    Conflict,
    ConsumerAssignFailed,
    ConsumerBusy,
    Forbidden,
    IncompatibleSchema,
    InvalidName,
    InvalidRequest,
    InvalidSchema,
    InvalidValue,
    MetadataFailed,
    NotAcceptable,
    NotAllowed,
    NotFound,
    NotImplementedHere,
    PersistenceFailed,
    PreconditionFailed,
    ProducerBlocked,
    ProducerBusy,
    ProducerFenced,
    ProducerHeld,
    ProtocolViolation,
    TargetRefused,
    TooManyRequests,
    TopicFenced,
    TopicTerminated,
    Unauthorized,
    UnknownListener,
    Unprocessable,
)

INTERNAL_ERROR = 500

STATUSES: dict[type[BrokerError], int] = {
    BodyBroken: 400,
    ChecksumMismatch: 400,
    InvalidRequest: 400,
    ProtocolViolation: 400,
    AuthenticationFailed: 401,
    Unauthorized: 401,
    Forbidden: 403,
    TargetRefused: 403,
    NotFound: 404,
    NotAllowed: 405,
    NotAcceptable: 406,
    BodyTooSlow: 408,
    Conflict: 409,
    ConsumerAssignFailed: 409,
    IncompatibleSchema: 409,
    ProducerFenced: 409,
    TopicTerminated: 409,
    ConsumerBusy: 412,
    InvalidName: 412,
    InvalidValue: 412,
    PreconditionFailed: 412,
    ProducerBlocked: 412,
    ProducerBusy: 412,
    ProducerHeld: 412,
    BodyTooLarge: 413,
    InvalidSchema: 422,
    Unprocessable: 422,
    TooManyRequests: 429,
    MetadataFailed: 500,
    PersistenceFailed: 500,
    UnknownListener: 500,
    NotImplementedHere: 501,
    BrokerUnreachable: 502,
    NoRoom: 503,
    TopicFenced: 503,
}


def status_of(error: BrokerError) -> int:
    """The status of the error's class, or of the nearest class above it that has one."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), INTERNAL_ERROR)
