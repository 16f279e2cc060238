"""The identity of the client and the permissions of a role, as the broker decides. Apache Pulsar lacks both."""

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
            decision = self._http.get(
                f"{ROOT}/can", role=role, action=action, resource=resource, subscription=subscription
            )
        except CliError as error:
            if error.status not in INVALID:
                raise
            raise UsageProblem(str(error.reason), request=error.request) from error
        return dict(decision)
