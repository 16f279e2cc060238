"""Writes conf/standalone.yaml and conf/proxy.yaml from the typed configuration: every key, its default, a sentence.

Run by `make docs`. A test compares the files with the output of this module.
"""

import json
from pathlib import Path

from broker_core.config.broker import BrokerConfig
from broker_core.config.proxy import ProxyConfig
from broker_core.config.sections import Sections
from broker_core.config.setting import Setting

HERE = Path(__file__).parent

BROKER_HEAD = """\
# Configuration of `pulsarctl standalone -c FILE`: every key with its default. The keys are Pulsar's.
# The standalone.conf of a Pulsar release works in place of this file, too.
# PULSARCTL_CONF_<key> in the environment overrides the file, and -X key=value on the command line overrides both.
# Generated from broker_core/config/ by `make docs`. Do not edit.
"""

PROXY_HEAD = """\
# Configuration of `pulsarctl proxy -c FILE`: every key with its default. The keys are Pulsar's.
# The proxy.conf of a Pulsar release works in place of this file, too.
# PULSARCTL_CONF_<key> in the environment overrides the file, and -X key=value on the command line overrides both.
# Generated from broker_core/config/ by `make docs`. Do not edit.
"""

TITLES = {
    "server": "Addresses and the process",
    "brokers": "Brokers",
    "limits": "Limits",
    "connection": "Connections",
    "commands": "Limits for one client command",
    "http": "Limits for clients of the admin API",
    "console": "The web console",
    "storage": "Storage",
    "topics": "Topics",
    "topic_lists": "Topic lists",
    "entry_metadata": "What the broker knows of entries",
    "dispatch": "Dispatch to consumers",
    "policies": "Default policies",
    "security": "Authentication and authorization",
    "openid": "OpenID Connect",
    "tls": "TLS",
    "rates": "Rate limits",
    "backlog_quota": "Backlog quotas",
    "deduplication": "Deduplication",
    "transactions": "Transactions",
    "scalable": "Scalable topics",
    "scaling": "Automatic splits and merges of scalable topics",
    "offload": "Tiered storage",
    "replication": "Geo-replication: copies of topics in other clusters",
    "delayed": "Delayed delivery",
    "inactive": "Inactive topics",
    "schema": "Schemas",
    "metrics": "Metrics",
}


def sentence(setting: Setting) -> str:
    return f"{setting.doc} One of: {', '.join(setting.choices)}." if setting.choices else setting.doc


def yaml_of(head: str, config: Sections) -> str:
    lines = [head]
    section = None
    for name, field, _value in config.settings():
        if name != section:
            section = name
            lines.append(f"\n# --- {TITLES[name]}\n")
        setting: Setting = field.metadata["setting"]
        lines.append(f"\n# {sentence(setting)}\n{setting.key}: {json.dumps(setting.file_default)}\n")
    return "".join(lines)


def standalone_yaml() -> str:
    return yaml_of(BROKER_HEAD, BrokerConfig())


def proxy_yaml() -> str:
    return yaml_of(PROXY_HEAD, ProxyConfig())


if __name__ == "__main__":
    (HERE / "standalone.yaml").write_text(standalone_yaml(), encoding="utf-8")
    (HERE / "proxy.yaml").write_text(proxy_yaml(), encoding="utf-8")
