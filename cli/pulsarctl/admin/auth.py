"""Who the client is, and what a role may do, as the broker decides it. Apache Pulsar has no such endpoints."""

from typing import Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.errors import CliError, UsageProblem

ROOT = "/admin/v2/auth"
INVALID = (400, 412)  # Pulsar's status for an invalid name is 412


class Auth:
    """Raises `NotFound` where the broker is an Apache Pulsar."""

    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def whoami(self) -> dict[str, Any]:
        return dict(self._http.get(f"{ROOT}/whoami"))

    def can(self, role: str, action: str, resource: str, subscription: str | None) -> dict[str, Any]:
        """Raises `UsageProblem` for an unknown action or an invalid name."""
        try:
            found = self._http.get(
                f"{ROOT}/can", role=role, action=action, resource=resource, subscription=subscription
            )
        except CliError as error:
            if error.status not in INVALID:
                raise
            raise UsageProblem(str(error.reason), request=error.request) from error
        return dict(found)
