"""The error tree of the commands. Only `shell.exit_codes` turns an error into an exit code.

    CliError               1   failure
    ├── UsageProblem       2   the command line or a configuration file is invalid
    │   └── DoesNotFit         a message does not match its schema
    ├── NotFound           3
    ├── NotAuthorized      4
    ├── CannotConnect      5
    ├── Conflict           6   exists already, is in use, or failed a precondition (HTTP 409, 412)
    ├── TimedOut           7
    ├── AlreadyRunning     8
    └── PartialFailure    10   some of many
    (11 and 12 are warnings and problems that `doctor` found, 13 a difference that `diff` found, 130 is Ctrl-C, and 141
    a closed pipe on stdout)

The codes are an interface that scripts rely on. A message says what failed and why; `hint` says what to do next.
"""

from collections.abc import Sequence
from typing import ClassVar

WARNINGS_FOUND = 11
PROBLEMS_FOUND = 12
DIFFERENCE_FOUND = 13
BROKEN_PIPE = 141


class CliError(Exception):
    """`details` are lines after the message. `reason` is the broker's own message, if any.

    `request` is the HTTP request or the address that failed.
    """

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failure"

    def __init__(
        self,
        message: str,
        *,
        details: Sequence[str] = (),
        hint: str | None = None,
        status: int | None = None,
        reason: str | None = None,
        request: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint
        self.status = status
        self.reason = reason
        self.request = request


class UsageProblem(CliError):
    exit_code = 2
    code = "usage"


class DoesNotFit(UsageProblem):
    """The message of the error names the field that does not match."""


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
