"""How a table reaches the cluster: addresses, credentials, deadlines. The one place for TLS and authentication.

It travels to tasks, and opens a connection only when asked. A token file is read where the connection is made.
"""

import os
from dataclasses import dataclass
from math import ceil
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings import credentials
from pulsarctl.settings.settings import Settings

DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Access:
    """`timeout_seconds` bounds each connection attempt, each request, and each wait for data."""

    service_url: str = DEFAULTS.service_url
    admin_url: str = DEFAULTS.web_url
    token: str = ""
    token_file: str = ""
    timeout_seconds: float = 60.0

    def admin(self) -> AdminClient:
        """The caller closes it."""
        return AdminClient(self._settings())

    def lookup(self) -> TopicLookup:
        """Opens connections to brokers by topic. The caller closes it. Raises `UsageProblem` for a bad token file."""
        token = credentials.token(self._settings())
        return TopicLookup(self.service_url, timeout_seconds=self.timeout_seconds, token=token)

    def client(self) -> Any:
        """The official client, for writing. The caller closes it."""
        import pulsar

        token = self.secret()
        return pulsar.Client(
            self.service_url,
            authentication=pulsar.AuthenticationToken(token) if token else None,
            operation_timeout_seconds=max(1, ceil(self.timeout_seconds)),
            logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
        )

    def secret(self) -> str | None:
        """The token itself. Raises `UsageProblem` if its file cannot be read."""
        return credentials.token(self._settings())

    def _settings(self) -> Settings:
        return Settings(
            service_url=self.service_url,
            web_url=self.admin_url,
            token=self.token or None,
            token_file=self.token_file or None,
            request_timeout_seconds=self.timeout_seconds,
            origins={"web_url": "the option admin_url"},
        )


LOCAL = Access()
