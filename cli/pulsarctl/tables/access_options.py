"""The options that say how to reach the cluster, shared by reading and writing."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.client_security import METHOD_OF, ClientSecurity
from pulsarctl.tables import option_values as values
from pulsarctl.tables.access import Access

_SWITCHES = ("tls_allow_insecure", "tls_verify_hostname")
_SECURITY = tuple(item.name for item in fields(ClientSecurity))

ACCESS_READERS: Mapping[str, values.Reader] = {
    "service_url": values.a_text,
    "admin_url": values.a_text,
    "timeout_seconds": values.some_seconds,
    **{name: values.yes_or_no if name in _SWITCHES else values.a_text for name in _SECURITY},
}


def options_of(access: Access) -> dict[str, str]:
    """The options that `access_of` reads as `access`."""
    others = (("service_url", access.service_url), ("admin_url", access.admin_url))
    security = ((name, getattr(access.security, name)) for name in _SECURITY)
    values = {name: str(value) for name, value in (*others, *security) if value not in (None, "")}
    return {**values, **{name: values[name].lower() for name in _SWITCHES if name in values}}


def access_of(values: dict[str, Any]) -> Access:
    """Removes the options of `ACCESS_READERS` from `values`. Raises `UsageProblem`."""
    security = {name: values.pop(name) for name in _SECURITY if name in values}
    methods = {METHOD_OF[name]: name for name in security if name in METHOD_OF}
    if len(methods) > 1:
        named = " and ".join(methods.values())
        raise UsageProblem(f"cannot combine the options {named}: they are different credentials")
    others = {name: values.pop(name) for name in ACCESS_READERS if name in values}
    return Access(**others, security=ClientSecurity(**security))
