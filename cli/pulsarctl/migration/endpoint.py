"""The ways to reach a cluster: admin API, lookups, and readers, with the addresses and credentials of one context."""

from dataclasses import dataclass

from pulsarctl.admin.client import AdminClient
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`timeout_seconds` bounds each connection attempt, each request, and each wait for data."""

    name: str
    settings: Settings
    timeout_seconds: float

    def admin(self) -> AdminClient:
        """The caller closes it."""
        return AdminClient(self.settings)

    def lookup(self) -> TopicLookup:
        """The caller closes it."""
        return TopicLookup(self.settings.service_url, timeout_seconds=self.timeout_seconds, security=self.settings)

    def reader(self, topic: str) -> EntryReader:
        """Everything that a topic has, from its first entry. The caller closes it."""
        return EntryReader(
            self.settings.service_url, topic, timeout_seconds=self.timeout_seconds, security=self.settings
        )
