"""The role of a client, and what a role may do, as the broker decides it. Not in Pulsar's API."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import Forbidden, InvalidRequest
from broker_core.security.authorization import Target
from broker_core.security.operations import ANYONE, SUPER_USER, TENANT_ADMIN
from broker_core.security.principal import Principal
from broker_core.security.questions import asked


async def whoami(call: Call) -> dict[str, Any]:
    """The role of the caller, and that for which it acts if it is a proxy."""
    security, principal = call.broker.security, call.principal
    return {
        "authentication": security.authentication is not None,
        "authorization": security.authorization is not None,
        "role": principal.role if principal else None,
        "originalRole": (principal.original or None) if principal else None,
        "superUser": security.decide(principal, SUPER_USER, Target()).allowed,
        "proxy": principal is not None and security.is_proxy(principal.role),
    }


async def can(call: Call) -> dict[str, Any]:
    """Return whether a role may do something, and the rule that decides it."""
    role = call.check_length(call.query.get("role", ""), "role")
    if not role:
        raise InvalidRequest("specify the role")
    operation, target = asked(
        call.query.get("action", ""), call.query.get("resource", ""), call.query.get("subscription")
    )
    _check_may_ask(call, role, target)
    decision = call.broker.security.decide(Principal(role), operation, target)
    return {
        "role": role,
        "operation": str(operation),
        "resource": str(target),
        "allowed": decision.allowed,
        "rule": decision.rule,
    }


def _check_may_ask(call: Call, role: str, target: Target) -> None:
    """About itself, every role may ask, and about others, those who may read the permissions."""
    if call.principal is not None and call.principal.name == role:
        return
    decision = call.broker.security.decide(call.principal, TENANT_ADMIN if target.tenant else SUPER_USER, target)
    if not decision.allowed:
        raise Forbidden(f"may not ask about the role {role}: {decision.rule}")


_AUTH = "/admin/v2/auth"

ROUTES = (
    Route("GET", f"{_AUTH}/whoami", whoami, ANYONE),
    Route("GET", f"{_AUTH}/can", can, ANYONE, query=("role", "action", "resource", "subscription")),
)
