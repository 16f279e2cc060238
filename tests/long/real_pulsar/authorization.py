"""`make authorization`: the table of who may do what, compared cell by cell with a real Apache Pulsar.

A cell is a route or command, a topic, and a kind of client. Pulsar denies it (401, 403, or `AuthorizationError`), calls
the request invalid, or carries it out. Each cell must be as in the table, or as in `authorization_differences`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from broker_core.admin import auto_scale, other_services, scalable, segments
from broker_core.admin.routes import Route
from broker_core.security.operations import Kind
from broker_core.security.principal import Principal
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import ServerError
from tests.broker.security.who import (
    CLIENTS,
    COMMAND_NEEDS,
    ROUTES,
    WHO,
    expected,
    parts,
    sample,
    title,
)
from tests.long.abuse.rest_table import ORDINARY, ROWS, row_name
from tests.long.real_pulsar.authorization_differences import DIFFERENCES, INVALID_FIRST, NOT_ASKED, NOT_SERVED
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.secured import ADMIN, NAMESPACE, PARTED, PLAIN, SECRET_URL, close_clients, raw, token

ANSWER_SECONDS = 3.0  # the backlog of a partition is never answered
SUPER_USER = Principal(ADMIN)
DENIED, INVALID, PASSED = "denied", "invalid", "passed"
TOPICS = ("plain", "parted", "parted-partition-1")
SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "authenticationProviders": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
    "tokenSecretKey": SECRET_URL,
    "superUserRoles": ADMIN,
    "proxyRoles": "proxy",
    "transactionCoordinatorEnabled": "true",
    "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
    "brokerClientAuthenticationParameters": f"token:{token(ADMIN)}",
}
REPLICAS = "/admin/v3/transactions/transactionCoordinator/replicas"
BODIES = {
    "T/partitions": 3,
    "N": {},
    "/admin/v2/tenants/{tenant}": {"adminRoles": ["owner"], "allowedClusters": []},
    REPLICAS: 2,
}
TRANSACTION = {
    "mostSigBits": "0",
    "leastSigBits": "1",
    "coordinatorId": "0",
    "timeout": "1",
    "ledgerId": "1",
    "entryId": "0",
}
DESTRUCTIVE = ("N", "T", "T/partitions", "/admin/v2/tenants/{tenant}", "N/subscriptionAuthMode")

OTHERS = (other_services, scalable, segments, auto_scale)
Cell = tuple[str, str, str]  # route or command, topic, client


class Pulsar:
    """Requests of each kind of client to one broker."""

    def __init__(self, http_url: str, service_url: str) -> None:
        self._port = int(http_url.rpartition(":")[2])
        self._wire: Any = SimpleNamespace(service_url=service_url)
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, client: Principal | None = SUPER_USER) -> int:
        """The status, or 0 if there is no answer."""
        headers = {} if client is None else {"Authorization": f"Bearer {token(client.role)}"}
        if client is not None and client.original:
            headers["X-Original-Principal"] = client.original
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            return 0
        return answer.status

    def restore(self) -> None:
        """Creates what requests have deleted, and gives the permissions of `secured.ROLES`."""
        for tenant, admin in (("acme", "owner"), ("other", "stranger")):
            body = {"adminRoles": [admin], "allowedClusters": ["standalone"]}
            if self.ask("PUT", f"/admin/v2/tenants/{tenant}", body) == 409:
                self.ask("POST", f"/admin/v2/tenants/{tenant}", body)
        self.ask("PUT", f"/admin/v2/namespaces/{NAMESPACE}", {})
        self.ask("POST", f"/admin/v2/namespaces/{NAMESPACE}/subscriptionAuthMode", "None")
        self.ask("PUT", f"/admin/v2/persistent/{NAMESPACE}/plain")
        self.ask("PUT", f"/admin/v2/persistent/{NAMESPACE}/parted/partitions", 2)
        for path, actions in _grants():
            status = self.ask("POST", path, actions)
            assert status == 204, f"POST {path}: {status}"

    def command(self, kind: str, topic: str, client: Principal) -> str:
        connection = raw(self._wire, client.role, original=client.original)
        connection.send(frame(sample(kind, topic)))
        answer = connection.expect_any()
        close_clients()
        known = answer.DESCRIPTOR.fields_by_name
        error = answer.error if "error" in known else answer.error_code if "error_code" in known else None
        return DENIED if error == ServerError.AuthorizationError else PASSED


def _grants() -> Iterator[tuple[str, list[str]]]:
    actions = {"producer": ["produce"], "consumer": ["consume"], "taker": ["consume"], "proxy": ["produce", "consume"]}
    for role, given in actions.items():
        yield f"/admin/v2/namespaces/{NAMESPACE}/permissions/{role}", given
    yield f"/admin/v2/namespaces/{NAMESPACE}/permissions/subscription/taken", ["grantee", "taker"]
    yield f"/admin/v2/namespaces/{NAMESPACE}/permissions/subscription/sub", []  # unrestricted
    for topic in ("plain", "parted"):
        for action in ("produce", "consume"):
            yield f"/admin/v2/persistent/{NAMESPACE}/{topic}/permissions/topic-{action}r", [action]


def verdict(status: int) -> str:
    if status in (401, 403):
        return DENIED
    return INVALID if status >= 400 else PASSED


NEWER = (
    "/allowedTopicPropertyKeysForMetrics",
    "/subscriptionExpirationTime",
)  # since Pulsar 4.2, with those of a topic
NAMESPACE_PATH = "/admin/v2/namespaces/{tenant}/{namespace}"
NEWER_ROOTS = ("/admin/v2/metadata/migration/", "/admin/v2/segments/")


def is_newer(route: Route) -> bool:
    """Whether the route came after this Pulsar; namespaces have had `subscriptionExpirationTime` for long."""
    at_end = route.path.endswith(NEWER) and title(route).split()[1] != f"{NAMESPACE_PATH}/subscriptionExpirationTime"
    return at_end or route.path.startswith(NEWER_ROOTS)


def compared(route: Route) -> bool:
    # Functions, packages, and scalable topics: not in this Pulsar.
    others = {one.path for module in OTHERS for one in module.ROUTES}
    return not is_newer(route) and route.path not in others and title(route) not in NOT_SERVED | set(NOT_ASKED)


def cells_of_routes(pulsar: Pulsar) -> Iterator[tuple[Cell, str]]:
    """Clients that are denied come first, so that each finds what the others have not yet changed."""
    for route in filter(compared, ROUTES):
        several = route.operation.kind is Kind.TOPIC or "truncate" in route.path
        for topic in TOPICS if several else TOPICS[:1]:
            path = _path(route, topic)
            body = _body(route)
            for name in sorted(CLIENTS, key=lambda one: one in expected(route)):
                status = pulsar.ask(
                    route.method, path, body if route.method in ("PUT", "POST") else None, CLIENTS[name]
                )
                yield (title(route), topic, name), verdict(status)
                if route.method != "GET" and status < 400 and _is_destructive(route):
                    pulsar.restore()


def _body(route: Route) -> Any:
    name = row_name(route.path)
    return BODIES.get(name, ROWS[name].body) if route.method in ("PUT", "POST") else None


def _path(route: Route, topic: str) -> str:
    ordinary = {name: ORDINARY[name] for name in ("name", "value", "number", "count", "seconds", "timestamp", "ledger")}
    filled = parts(
        route, topic=topic, **ordinary, entry="0", bundle="0x00000000_0x40000000", partition="1", **TRANSACTION
    )
    segments = route.path.split("/")
    return "/".join(urllib.parse.quote(filled[one[1:-1]]) if one.startswith("{") else one for one in segments)


def _is_destructive(route: Route) -> bool:
    name = row_name(route.path)
    return name in DESTRUCTIVE or "ermissions" in name or "terminate" in name


def cells_of_commands(pulsar: Pulsar) -> Iterator[tuple[Cell, str]]:
    for kind in sorted(set(COMMAND_NEEDS) - NOT_SERVED):
        for topic in (PLAIN, f"{PARTED}-partition-0"):
            for name, client in CLIENTS.items():
                if client is not None and name not in ("proxy", "proxy for itself", "producer as admin"):
                    yield (kind, topic, name), pulsar.command(kind, topic, client)


def passes(cell: Cell) -> bool:
    """By the table; over HTTP, clients without credentials pass only where everyone does."""
    request, _, client = cell
    if request in COMMAND_NEEDS:
        return client in WHO[COMMAND_NEEDS[request]]
    route = next(one for one in ROUTES if title(one) == request)
    if client == "no role" and route.path not in ("/metrics", "/status.html"):
        return False
    return client in expected(route)


def explained(cell: Cell, found: str) -> bool:
    request, _, client = cell
    if found == INVALID and not passes(cell):
        return request in INVALID_FIRST
    return any(request in one.requests and client in one.clients for one in DIFFERENCES)


def compare(cells: Callable[[Pulsar], Iterator[tuple[Cell, str]]], pulsar: Pulsar, tally: Counter[str]) -> list[str]:
    """The cells that differ without an explanation."""
    wrong = []
    for cell, found in cells(pulsar):
        same = (found == DENIED) != passes(cell)
        tally["same" if same else "explained" if explained(cell, found) else "different"] += 1
        if not same and not explained(cell, found):
            wrong.append(f"{', '.join(cell)}: {found}, and {'passes' if passes(cell) else 'denied'} here")
    return wrong


def main() -> int:
    argparse.ArgumentParser(prog="make authorization", description=__doc__).parse_args()
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="authorization-") as scratch:
        broker = JavaPulsar(Path(scratch), SETTINGS, token=token(ADMIN))
        broker.start()
        try:
            pulsar = Pulsar(broker.http_url, broker.service_url)
            pulsar.restore()
            wrong = compare(cells_of_commands, pulsar, tally) + compare(cells_of_routes, pulsar, tally)
        finally:
            broker.stop()
    print(*wrong, sep="\n")
    same, explained_cells = tally["same"], tally["explained"]
    print(f"{tally.total():,} cells: {same:,} as in the table, {explained_cells:,} explained, {len(wrong):,} not")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
