"""A web server with the answers of a test, for what a broker does only when something is wrong."""

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hangs_up: bool = False  # afterwards, and no header says so


class HttpStub:
    """Calls `answer` with each request; `requests` has all of them. With a context, it speaks TLS."""

    def __init__(
        self, answer: Callable[[Request], Reply], context: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.requests: list[Request] = []
        self.connections = self.closed = 0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                stub.connections += 1
                super().setup()

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                request = Request(self.command, self.path, dict(self.headers), body)
                stub.requests.append(request)
                reply = answer(request)
                payload = _payload(reply.body)
                send = self.send_response_only if "Date" in reply.headers else self.send_response  # which adds a date
                send(reply.status)
                for name, value in ({"Content-Length": str(len(payload))} | reply.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)
                self.close_connection = reply.hangs_up or reply.headers.get("Connection") == "close"

            def log_message(self, format: str, *arguments: Any) -> None:
                """Logs nothing."""

        class Server(ThreadingHTTPServer):
            def shutdown_request(self, request: Any) -> None:
                super().shutdown_request(request)
                stub.closed += 1

        self._server = Server(("127.0.0.1", port), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _payload(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()
