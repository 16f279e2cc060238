"""Why a broker refused a producer, where the official client says only that time ran out."""

from collections.abc import Iterator
from contextlib import contextmanager

from pulsarctl.errors import CliError, TimedOut
from pulsarctl.shell.call import Call
from pulsarctl.values.names import namespace_of


@contextmanager
def refusal_explained(call: Call, topic: str) -> Iterator[None]:
    """The client retries a producer that must encrypt until its timeout, because brokers call the error temporary."""
    try:
        yield
    except TimedOut as error:
        if not _requires_encryption(call, topic):
            raise
        _, semicolon, how_far = error.message.partition("; ")
        raise CliError(
            f"cannot produce to {topic}: encryption is required{semicolon}{how_far}",
            hint="encrypt with -ekn NAME -ekv PUBLIC_KEY",
            reason=error.reason,
        ) from error


def _requires_encryption(call: Call, topic: str) -> bool:
    """False if the admin API cannot tell."""
    try:
        return call.admin.namespaces.policy(namespace_of(topic), "encryptionRequired") is True
    except CliError:
        return False
