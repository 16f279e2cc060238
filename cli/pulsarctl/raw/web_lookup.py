"""The broker of a topic and its number of partitions for an `http(s)://` service URL: lookups over HTTP.

The answer names the address of the broker's binary port, and connections go there, as with Pulsar's clients.
"""

from dataclasses import fields
from typing import Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.errors import CannotConnect, UsageProblem
from pulsarctl.settings.addresses import Address, service_addresses
from pulsarctl.settings.client_security import ClientSecurity
from pulsarctl.settings.settings import Settings
from pulsarctl.values.names import is_scalable, topic_path


class WebLookup:
    """`service_url` may list several hosts. Redirects between brokers are followed."""

    def __init__(self, service_url: str, *, timeout_seconds: float, security: ClientSecurity) -> None:
        known = {item.name: getattr(security, item.name) for item in fields(ClientSecurity)}
        origins = {"web_url": "the service URL"}
        self._http = AdminHttp(
            Settings(**known, web_url=service_url, request_timeout_seconds=timeout_seconds, origins=origins)
        )
        self._key = "brokerUrlTls" if service_url.startswith("https:") else "brokerUrl"

    def server_version(self) -> str:
        return str(self._http.get("/admin/v2/brokers/version"))

    def partitions(self, topic: str, *, create: bool = False) -> int:
        """The number of partitions, 0 for a topic without. Raises `NotFound` if the broker reports it."""
        path = f"/admin/v2/{topic_path(topic)}/partitions"
        metadata: dict[str, Any] = self._http.get(f"{path}?checkAllowAutoCreation=true" if create else path)
        return int(metadata.get("partitions", 0))

    def owner(self, topic: str) -> Address:
        """Raises `UsageProblem` for a scalable topic, because brokers do not look up segments over HTTP."""
        if is_scalable(topic):
            raise UsageProblem(
                f"cannot reach {topic} through an http service URL", hint="use a pulsar:// or pulsar+ssl:// URL"
            )
        answer: dict[str, Any] = self._http.get(f"/lookup/v2/topic/{topic_path(topic)}")
        url = answer.get(self._key) or (answer.get("brokerUrlSsl") if self._key == "brokerUrlTls" else "")
        if not url:
            kind = "TLS" if self._key == "brokerUrlTls" else "plain"
            raise CannotConnect(f"cannot read {topic}: its broker advertises no {kind} address")
        return service_addresses(url)[0]

    def close(self) -> None:
        self._http.close()
