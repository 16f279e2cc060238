"""The official client's errors and results as errors of a command. It does not import the client."""

from pulsarctl.errors import CannotConnect, CliError, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem

_KINDS: dict[str, type[CliError]] = {
    "AuthenticationError": NotAuthorized,
    "AuthorizationError": NotAuthorized,
    "ConnectError": CannotConnect,
    "ConsumerBusy": Conflict,
    "IncompatibleSchema": Conflict,
    "InvalidTopicName": UsageProblem,
    "InvalidUrl": UsageProblem,
    "NotConnected": CannotConnect,
    "ProducerBusy": Conflict,
    "ProducerFenced": Conflict,
    "SubscriptionNotFound": NotFound,
    "Timeout": TimedOut,
    "TopicNotFound": NotFound,
    "TopicTerminated": Conflict,
}
_QUOTA_EXCEEDED = "the backlog quota is exceeded; wait until a subscription catches up"
_WORDS = {
    "AuthenticationError": "the broker does not accept the credentials",
    "AuthorizationError": "not authorized",
    "CryptoError": "the encryption key cannot be used; it must be an RSA key in PEM form",
    "BrokerPersistenceError": "the broker cannot write (disk full or failed)",
    "ConnectError": "no connection to the broker",
    "ConsumerBusy": "the subscription has another consumer, and its type allows only one",
    "IncompatibleSchema": "the schema is not compatible with the topic's, or the topic requires one",
    "InvalidTopicName": "the topic name is not valid",
    "NotAllowedError": "the broker does not allow or support it",
    "NotConnected": "the connection to the broker is lost",
    "ProducerBlockedQuotaExceededError": _QUOTA_EXCEEDED,
    "ProducerBlockedQuotaExceededException": _QUOTA_EXCEEDED,
    "ProducerBusy": "another producer has this name",
    "Timeout": "the broker did not answer in time",
    "TopicNotFound": "the topic or its namespace does not exist",
    "TopicTerminated": "the topic is terminated",
}


_HINTS = {
    "TopicNotFound": "check the name; see 'pulsarctl namespaces list TENANT' and 'pulsarctl topics list NAMESPACE'",
    "TopicTerminated": "'pulsarctl explain TOPIC' says whether it was migrated to a scalable topic",
}


def problem(result: str, action: str, request: str, said: str | None = None) -> CliError:
    """The error for one of the client's results. `said` is what the broker said about the request, if that is known."""
    return _KINDS.get(result, CliError)(
        f"cannot {action}: {_why(result, said)}",
        hint=_HINTS.get(result),
        reason=result,
        request=request or None,
    )


def _why(result: str, said: str | None) -> str:
    """Our words, and the broker's. The client tries a refused request again until its timeout, which says less."""
    if said is None:
        return _WORDS.get(result, result)
    return f"the broker says: {said}" if result == "Timeout" else f"{_WORDS.get(result, result)}: {said}"
