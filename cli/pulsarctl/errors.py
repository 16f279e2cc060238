"""Everything that can go wrong in a command, as one tree; `main` alone turns it into an exit code.

    CliError               1   failure
    ├── UsageProblem       2   the command line or a configuration file makes no sense
    │   └── DoesNotFit         a message is not what its schema says
    ├── NotFound           3
    ├── NotAuthorized      4
    ├── CannotConnect      5
    ├── Conflict           6   exists already, is busy, a precondition failed (HTTP 409, 412)
    ├── TimedOut           7
    ├── AlreadyRunning     8
    └── PartialFailure    10   some of many
    (130 is Ctrl-C, 141 a reader of our output that went away)

The codes are an interface: scripts compare them. A message says what was tried and why it failed; `hint` is
the command to run next.
"""

from typing import ClassVar

BROKEN_PIPE = 141


class CliError(Exception):
    """`reason` is the broker's own word where there is one, `request` the HTTP request or address that was tried."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failure"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        reason: str | None = None,
        request: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status
        self.reason = reason
        self.request = request


class UsageProblem(CliError):
    exit_code = 2
    code = "usage"


class DoesNotFit(UsageProblem):
    """The message says where in it."""


class NotFound(CliError):
    exit_code = 3
    code = "not-found"


class NotAuthorized(CliError):
    exit_code = 4
    code = "not-authorized"


class CannotConnect(CliError):
    exit_code = 5
    code = "cannot-connect"


class Conflict(CliError):
    exit_code = 6
    code = "conflict"


class TimedOut(CliError):
    exit_code = 7
    code = "timeout"


class AlreadyRunning(CliError):
    exit_code = 8
    code = "already-running"


class PartialFailure(CliError):
    exit_code = 10
    code = "partial-failure"
