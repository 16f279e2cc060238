"""The access of a table to the cluster: addresses, credentials, TLS, deadlines.

It travels to tasks, and opens a connection only when asked. Files of tokens, passwords, keys, and certificates are read
where the connection is made.
"""

import os
from dataclasses import dataclass, fields
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.client_security import OPEN, ClientSecurity
from pulsarctl.settings.settings import Settings

DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Access:
    """`timeout_seconds` bounds each connection attempt, each request, and each wait for data."""

    service_url: str = DEFAULTS.service_url
    admin_url: str = DEFAULTS.web_url
    security: ClientSecurity = OPEN
    timeout_seconds: float = 60.0
    admin_origin: str = "the option admin_url"  # for errors

    def admin(self) -> AdminClient:
        """The caller closes it."""
        security = {item.name: getattr(self.security, item.name) for item in fields(ClientSecurity)}
        settings = Settings(
            **security,
            service_url=self.service_url,
            web_url=self.admin_url,
            request_timeout_seconds=self.timeout_seconds,
            origins={"web_url": self.admin_origin},
        )
        return AdminClient(settings)

    def lookup(self) -> TopicLookup:
        """Opens connections to brokers by topic. The caller closes it. Raises `UsageProblem` for unusable files."""
        return TopicLookup(self.service_url, timeout_seconds=self.timeout_seconds, security=self.security)

    def client(self) -> Any:
        """The official client, for writing. The caller closes it."""
        import pulsar

        from pulsarctl.client.opening import open_client

        logger = pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)
        return open_client(self.security, self.service_url, self.timeout_seconds, logger)


LOCAL = Access()
