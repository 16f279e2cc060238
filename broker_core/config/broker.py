"""The broker's configuration: one frozen object in sections, each field named by its Pulsar key.

A part of the broker receives its own section, never the whole object. Each section has a module of this package.
`setting(...)` gives a field its Pulsar key, its default, and one sentence of documentation; `conf/standalone.yaml` is
generated from these. Sizes are in bytes unless the key says otherwise. -1 or 0 mean "no limit" where the sentence says
so. `sources` says where values come from.
"""

import dataclasses
from dataclasses import field
from typing import Any

from broker_core.config.commands import CommandConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.features import (
    BacklogQuotaConfig,
    DeduplicationConfig,
    DelayedConfig,
    EntryMetadataConfig,
    InactiveConfig,
    RateConfig,
    ScalableConfig,
    SchemaConfig,
    TransactionConfig,
)
from broker_core.config.frozen import frozen
from broker_core.config.http import HttpConfig
from broker_core.config.metrics import MetricsConfig
from broker_core.config.offload import OffloadConfig
from broker_core.config.openid import OpenIdConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.replication import ReplicationConfig
from broker_core.config.scaling import ScalingConfig
from broker_core.config.sections import Sections
from broker_core.config.security import SecurityConfig
from broker_core.config.server import ConnectionConfig, ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.config.tls import TlsConfig
from broker_core.config.topic import TopicConfig, TopicListConfig


@frozen
class BrokerConfig(Sections):
    """All sections of the broker."""

    server: ServerConfig = field(default_factory=ServerConfig)
    connection: ConnectionConfig = field(default_factory=ConnectionConfig)
    commands: CommandConfig = field(default_factory=CommandConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)
    security: SecurityConfig = field(default_factory=SecurityConfig)
    openid: OpenIdConfig = field(default_factory=OpenIdConfig)
    tls: TlsConfig = field(default_factory=TlsConfig)
    storage: StorageConfig = field(default_factory=StorageConfig)
    topics: TopicConfig = field(default_factory=TopicConfig)
    topic_lists: TopicListConfig = field(default_factory=TopicListConfig)
    entry_metadata: EntryMetadataConfig = field(default_factory=EntryMetadataConfig)
    dispatch: DispatchConfig = field(default_factory=DispatchConfig)
    policies: PolicyConfig = field(default_factory=PolicyConfig)
    rates: RateConfig = field(default_factory=RateConfig)
    backlog_quota: BacklogQuotaConfig = field(default_factory=BacklogQuotaConfig)
    deduplication: DeduplicationConfig = field(default_factory=DeduplicationConfig)
    transactions: TransactionConfig = field(default_factory=TransactionConfig)
    scalable: ScalableConfig = field(default_factory=ScalableConfig)
    scaling: ScalingConfig = field(default_factory=ScalingConfig)
    offload: OffloadConfig = field(default_factory=OffloadConfig)
    replication: ReplicationConfig = field(default_factory=ReplicationConfig)
    delayed: DelayedConfig = field(default_factory=DelayedConfig)
    inactive: InactiveConfig = field(default_factory=InactiveConfig)
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)

    def copy(self) -> "BrokerConfig":
        """The same values in new sections."""
        return self.replace(**{name: dataclasses.replace(getattr(self, name)) for name in self.section_names()})

    def by_key(self) -> dict[str, Any]:
        """Every value by its key."""
        return {described.metadata["setting"].key: value for _, described, value in self.settings()}
