"""Requests to the admin API from a test that is not a coroutine."""

import http.client
import json
from typing import Any

from broker_core.testing import EmbeddedBroker
from tests.broker.admin.conftest import Reply


class Requests:
    """`admin("PUT", "tenants/t", {...})`; a path that starts with `/` is used unchanged."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.embedded = broker
        self.broker = broker.broker

    def __call__(self, method: str, path: str, body: Any = None) -> Reply:
        connection = http.client.HTTPConnection(self.embedded.http_url.partition("://")[2], timeout=10)
        try:
            sent = None if body is None else json.dumps(body)
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path if path.startswith("/") else f"/admin/v2/{path}", sent, headers)
            response = connection.getresponse()
            return Reply(response.status, response.getheader("Content-Type"), response.read().decode())
        finally:
            connection.close()
