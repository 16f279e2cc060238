"""A persistent HTTP connection to a broker's admin API, with the standard library only: a REST library takes 36 ms to
import.

A request returns a value or raises a `CliError`; `refusals` makes it of an answer with an error.
"""

import http.client
import json
import re
import selectors
import socket
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import fields
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from pulsarctl.admin import connections
from pulsarctl.admin.connections import Kept
from pulsarctl.admin.refusals import no_tenant, refusal, tenant_of
from pulsarctl.auth.channel import Channel
from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.next_steps import after_no_answer
from pulsarctl.settings.addresses import admin_address, admin_urls
from pulsarctl.settings.settings import CONNECT_TIMEOUT_SECONDS, Settings
from pulsarctl.values.clock import monotonic
from pulsarctl.values.json_text import parse_json

WITH_EFFECT = ("/admin/v2/brokers/backlog-quota-check",)  # Pulsar changes something in answer to a GET
TLS_ALERT = "\x15\x03"  # how a server answers in TLS to what is not
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
REDIRECTS_MAX = 5  # a broker that does not own a topic names the one that does (307)


class Response(NamedTuple):
    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class AdminHttp:
    """`web_url` may list several addresses (`http://a:8080,b:8080`); the first one that answers is used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._channel = Channel(settings)
        self._addresses = admin_urls(settings.web_url)
        self._connection: http.client.HTTPConnection | None = None
        self._is_idle = True  # whether the last answer was read to its end
        self._base = self._addresses[0]
        self._origin = settings.origin("web_url")
        self._take_kept()

    def close(self) -> None:
        """Closes the connection, or leaves it to the next command of a session."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        kept = connections.shared() if self._is_idle else None
        if kept is None or not kept.give(self._key, Kept(self._base, connection)):
            connection.close()

    def _take_kept(self) -> None:
        shared = connections.shared()
        kept = shared.take(self._key) if shared is not None else None
        if kept is not None:
            self._base, self._connection = kept.base, kept.connection
            self._set_timeout(kept.connection)

    @property
    def _key(self) -> Hashable:
        """The settings that a connection depends on. Credentials travel with each request, except for a certificate."""
        settings = self._settings
        names = [setting.name for setting in fields(settings) if setting.name.startswith("tls_")]
        return (settings.web_url, *(getattr(settings, name) for name in names))

    def get(self, path: str, **query: object) -> Any:
        return self.request("GET", path, query=query)

    def put(self, path: str, body: Any = None, **query: object) -> Any:
        return self.request("PUT", path, body=body, query=query)

    def post(self, path: str, body: Any = None, **query: object) -> Any:
        return self.request("POST", path, body=body, query=query)

    def delete(self, path: str, **query: object) -> Any:
        return self.request("DELETE", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: dict[str, object] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """The response's JSON value, or its text if it is not JSON, or None if it is empty.

        Query values that are None are omitted. Raises `CliError`, `CannotConnect` or `TimedOut`.
        """
        payload = None if body is None else json.dumps(body).encode()
        target = path + _query(query or {})
        if self._is_planned(method, target, payload):
            return None
        return _value(self._respond(method, target, payload, content_type).text)

    def send(self, method: str, path: str, payload: bytes, content_type: str) -> Any:
        """Sends a body that is not JSON. Returns and raises what `request` does."""
        if self._is_planned(method, path, f"({len(payload)} bytes of {content_type.partition(';')[0]})".encode()):
            return None
        return _value(self._respond(method, path, payload, content_type).text)

    def get_bytes(self, path: str, /, **query: object) -> tuple[bytes, Message]:
        """A response's body and headers. Raises what `request` raises."""
        response = self._respond("GET", path + _query(query), None, "")
        return response.body, response.headers

    def _is_planned(self, method: str, target: str, payload: bytes | None) -> bool:
        """Prints a request that `--dry-run` holds back, without secrets; whether it does."""
        if not self._settings.dry_run or (method == "GET" and target not in WITH_EFFECT):
            return False
        from pulsarctl.output.redaction import Redactor, forms_masked  # their patterns take a while to compile

        body = "" if payload is None else f" {Redactor().document(payload.decode())}"
        render.line(f"{method} {self._base}{forms_masked(target)}{body}")
        return True

    def _respond(self, method: str, target: str, payload: bytes | None, content_type: str) -> Response:
        for _ in range(REDIRECTS_MAX + 1):
            response = self._exchange(method, target, payload, content_type)
            location = response.headers.get("Location")
            if response.status not in (307, 308) or not location:
                break
            target = self._follow(location)
        if response.status > 204:
            request = f"{method} {self._base}{target}"
            authenticates = bool(self._channel.authentication.method)
            problem = refusal(response.status, response.text, request, self._origin, authenticates=authenticates)
            raise self._missing_tenant(problem, target) or self._missing_resource(problem, target) or problem
        for warning in warnings_of(response.headers):
            render.notice(f"warning: {warning}")
        return response

    def _missing_tenant(self, problem: CliError, target: str) -> CliError | None:
        """The error that names the tenant: a broker only says that the namespace is missing."""
        tenant = tenant_of(problem, target)
        if tenant is None:
            return None
        with suppress(CliError):
            if self._exchange("GET", f"/admin/v2/namespaces/{tenant}", None, "").status == 404:
                return no_tenant(unquote(tenant), problem)
        return None

    def _missing_resource(self, problem: CliError, target: str) -> CliError | None:
        """The error that names what a broker lacks that has no scalable topics, or not all requests about them."""
        from pulsarctl.admin import without_scalable_topics as without

        path = target.partition("?")[0]
        if not without.is_unknown(problem, path):
            return None
        listed = without.list_path(path)
        if path != listed:
            with suppress(CliError):
                answer = self._exchange("GET", listed, None, "")
                if not without.is_unknown(refusal(answer.status, answer.text, "", "", authenticates=True), listed):
                    return without.no_such_request(problem, path)
        return without.no_scalable_topics(problem)

    def _exchange(self, method: str, target: str, payload: bytes | None, content_type: str) -> Response:
        if self._connection is not None and _is_dropped(self._connection):
            self._connection.close()
            self._connection = None
        kept = self._connection is not None
        connection = self._connection or self._connect()
        try:
            return self._send(connection, method, target, payload, content_type)
        except TimeoutError as error:
            self.close()
            seconds = self._settings.request_timeout_seconds
            raise TimedOut(
                f"no answer within {seconds:g} s: {method} {self._base}{target}",
                hint="wait longer with --request-timeout",
                request=f"{method} {self._base}{target}",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if kept and method == "GET":  # the broker closed the idle connection
                return self._exchange(method, target, payload, content_type)
            refused = self._channel.refused(self._base, error) if isinstance(error, OSError) and not kept else None
            raise refused or self._unreachable(f"{self._base}{target}", error, method) from error

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        payload: bytes | None,
        content_type: str,
    ) -> Response:
        headers = {"Accept": "application/json"}
        if payload is not None:
            headers["Content-Type"] = content_type
        if method_name := self._channel.authentication.method:
            headers["X-Pulsar-Auth-Method-Name"] = method_name  # so that the broker tries no other
        if header := self._channel.authentication.header():
            headers["Authorization"] = header
        started = monotonic()
        self._is_idle = False
        connection.request(method, target, payload, headers)
        response = connection.getresponse()
        body = response.read()
        self._is_idle = True
        if self._settings.verbose:
            milliseconds = round((monotonic() - started) * 1000)
            render.notice(f"{method} {self._base}{target} answered {response.status} in {milliseconds} ms")
        return Response(response.status, response.headers, body)

    def _connect(self) -> http.client.HTTPConnection:
        """Tries each address once. Raises `CannotConnect` with the last failure."""
        failure: OSError = OSError("no address")
        for base in self._addresses:
            self._base = base
            connection = self._open(base)
            try:
                connection.connect()
            except OSError as error:
                failure = error
                continue
            self._set_timeout(connection)
            self._connection = connection
            return connection
        raise self._unreachable(", ".join(self._addresses), failure) from failure

    def _set_timeout(self, connection: http.client.HTTPConnection) -> None:
        connection.timeout = self._settings.request_timeout_seconds  # for automatic reconnects of http.client
        if isinstance(connection.sock, socket.socket):
            connection.sock.settimeout(connection.timeout)

    def _open(self, base: str) -> http.client.HTTPConnection:
        host, port = admin_address(base)
        timeout = min(CONNECT_TIMEOUT_SECONDS, self._settings.request_timeout_seconds)
        if base.startswith("http:"):
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._channel.context)

    def _follow(self, location: str) -> str:
        try:
            parts = urlsplit(location)
            elsewhere = admin_urls(f"{parts.scheme}://{parts.netloc}") if parts.netloc else [self._base]
        except (ValueError, UsageProblem) as error:
            raise CannotConnect(f"{self._base} redirects to '{location}', which is not an admin URL") from error
        if self._base.startswith("https:") and not elsewhere[0].startswith("https:"):
            raise CannotConnect(f"{self._base} redirects to '{location}', which is not secured by TLS")
        if elsewhere != [self._base]:
            self.close()
            self._addresses = elsewhere
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def _unreachable(self, tried: str, error: Exception, method: str = "") -> CannotConnect:
        connected = bool(method) or type(error).__name__.startswith("SSL")
        problem = f"no answer to {method}" if method else "cannot reach the broker at"
        return CannotConnect(
            f"{problem} {tried} (URL from {self._origin}): {_words(error)}",
            hint=after_no_answer(
                [admin_address(base)[0] for base in self._addresses], "--admin-url", connected=connected
            ),
            request=f"{method} {tried}".lstrip(),
        )


def warnings_of(headers: Message) -> list[str]:
    """The notices of the bundled broker about a request that it carried out, in headers `Warning: 299 - "text"`."""
    matches = [_WARNING.fullmatch(value) for value in headers.get_all("Warning", [])]
    return [re.sub(r"\\(.)", r"\1", match[1]) for match in matches if match]


def _is_dropped(connection: http.client.HTTPConnection) -> bool:
    """Whether the broker has closed an idle connection: nothing else makes it readable."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _query(query: dict[str, object]) -> str:
    texts = {
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in query.items()
        if value is not None
    }
    return "?" + urlencode(texts, doseq=True) if texts else ""  # a list is one parameter for each item


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        return parse_json(text)
    except ValueError:
        return text  # health and bundle ranges are plain text, despite their content type


def _words(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"unknown host name ({error.strerror})"
    if type(error).__name__.startswith("SSL"):  # importing `ssl` takes as long as the request
        from pulsarctl.auth.tls import words

        return words(error)  # type: ignore[arg-type]  # its name says it
    if isinstance(error, http.client.RemoteDisconnected):
        return "it closed the connection; is this the port of the admin API, and is the scheme of the URL right?"
    if isinstance(error, http.client.BadStatusLine):
        expects_tls = str(error.args[0]).startswith(TLS_ALERT)
        return "it expects TLS; use https://" if expects_tls else "not a web server; is this the port of the admin API?"
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_TIMEOUT_SECONDS:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
