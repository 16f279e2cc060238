"""Pulsar's rules applied to the permissions that this client may read, for brokers that do not answer such questions.

The rules are those of the bundled broker. What may not be read leaves the answer open, unless another rule allows.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from broker_core.config.security import SecurityConfig
from broker_core.errors import InvalidName, InvalidRequest
from broker_core.metadata.tenancy.documents import Tenant
from broker_core.metadata.tenancy.permissions import Permissions
from broker_core.names import TopicName
from broker_core.security.authorization import Authorization, Target
from broker_core.security.principal import Principal
from broker_core.security.questions import asked
from pulsarctl.admin.client import AdminClient
from pulsarctl.auth.authentication import (
    Authentication,
    CertificateAuthentication,
    PasswordAuthentication,
    TokenAuthentication,
    authentication_of,
)
from pulsarctl.errors import NotAuthorized, NotFound, UsageProblem
from pulsarctl.settings.settings import Settings
from pulsarctl.values.json_text import parse_json

Read = TypeVar("Read")
BY_PREFIX = "Prefix"


@dataclass(frozen=True, slots=True)
class Question:
    """May a role do this?"""

    role: str
    action: str
    resource: str
    subscription: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`allowed` is None if what may be read does not decide it."""

    operation: str
    resource: str
    allowed: bool | None
    rule: str


@dataclass
class Facts:
    """The answers of the broker; `missing` names what it does not let this client read."""

    admin: AdminClient
    missing: list[str] = field(default_factory=list)

    def read(self, label: str, ask: Callable[[], Read]) -> Read | None:
        try:
            return ask()
        except NotFound:
            return None
        except NotAuthorized:
            self.missing.append(label)
            return None

    def settings(self) -> Mapping[str, str]:
        return self.read("superUserRoles", self.admin.brokers.runtime_configuration) or {}

    def tenant(self, name: str) -> Tenant | None:
        document = self.read(f"the admins of the tenant {name}", lambda: self.admin.tenants.get(name)) if name else None
        return None if document is None else Tenant(tuple(document.get("adminRoles") or ()))

    def permissions(self, target: Target) -> Permissions | None:
        """The permissions of the namespace, and of the topic if the question names one."""
        if target.namespace is None:
            return None
        namespace = str(target.namespace)
        return self.read(f"the permissions on {namespace}", lambda: self._permissions(namespace, target))

    def partitions(self, topic: TopicName) -> int:
        return self.read(f"the partitions of {topic}", lambda: self.admin.topics.partitions(str(topic))) or 0

    def _permissions(self, namespace: str, target: Target) -> Permissions:
        root = f"/admin/v2/namespaces/{namespace}"
        http = self.admin.http
        topics: dict[str, Any] = {}
        if target.topic is not None:
            for name in {str(target.topic), str(target.topic.base)}:
                path = f"/admin/v2/{name.replace('://', '/')}/permissions"
                topics[name] = self.read(f"the permissions on {name}", partial(http.get, path)) or {}
        mode = self.read("the subscriptionAuthMode", lambda: http.get(f"{root}/subscriptionAuthMode"))
        return Permissions(
            http.get(f"{root}/permissions") or {},
            topics,
            self.read("the roles of subscriptions", lambda: http.get(f"{root}/permissions/subscription")) or {},
            mode == BY_PREFIX,
        )


def decide(admin: AdminClient, question: Question) -> Answer:
    """Raises `UsageProblem` for an unknown action or an invalid name."""
    try:
        operation, target = asked(question.action, question.resource, question.subscription)
    except (InvalidRequest, InvalidName) as error:
        raise UsageProblem(str(error)) from error
    facts = Facts(admin)
    settings = facts.settings()
    if settings.get("authorizationEnabled") == "false":
        return Answer(str(operation), str(target), True, "authorization is switched off")
    config = SecurityConfig(
        super_users=settings.get("superUserRoles", ""),
        proxies=settings.get("proxyRoles", ""),
        wildcards=settings.get("authorizationAllowWildcardsMatching") == "true",
    )
    rules = Authorization(config, facts.tenant, lambda _: facts.permissions(target), facts.partitions)
    decision = rules.decide(Principal(question.role), operation, target)
    if decision.allowed or not facts.missing:
        return Answer(str(operation), str(target), decision.allowed, decision.rule)
    return Answer(str(operation), str(target), None, f"you may not read {', '.join(facts.missing)}")


def who(admin: AdminClient, settings: Settings) -> dict[str, Any]:
    """Raises `NotAuthorized` if the broker does not accept the credentials."""
    admin.http.get("/admin/v2/brokers/version")
    facts = Facts(admin)
    known = facts.settings()
    authentication = authentication_of(settings)
    return {
        "authentication": _switch(known, "authenticationEnabled"),
        "authorization": _switch(known, "authorizationEnabled"),
        "method": authentication.method or "none",
        "role": _role_in(authentication, known.get("tokenAuthClaim") or "sub"),
        "superUser": facts.read("the list of tenants", admin.tenants.list) is not None,
        "decidedBy": "the credentials, which the broker accepts",
    }


def _switch(settings: Mapping[str, str], key: str) -> bool | None:
    return settings[key] == "true" if key in settings else None


def _role_in(authentication: Authentication, claim: str) -> str | None:
    """None if it cannot be told. The broker has verified the token, and this has not."""
    match authentication:
        case TokenAuthentication():
            return _claim(authentication.token(), claim)
        case PasswordAuthentication(user=user):
            return user
        case CertificateAuthentication(certificate_file=file):
            return _common_name(file)
    return None


def _claim(token: str, claim: str) -> str | None:
    try:
        part = token.split(".")[1]
        value = parse_json(urlsafe_b64decode(part + "=" * (-len(part) % 4)))[claim]
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return value if isinstance(value, str) else None


def _common_name(file: str) -> str | None:
    try:
        from cryptography import x509
    except ImportError:
        return None
    with open(file, "rb") as certificate:
        subject = x509.load_pem_x509_certificate(certificate.read()).subject
    names = subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else None
