"""Writes conf/standalone.yaml from the broker's typed configuration: every key, its default, one sentence.

Run by `make docs`; a test compares the file with what this would write.
"""

import json
from pathlib import Path

from broker_core.config.broker import BrokerConfig
from broker_core.config.setting import Setting

TARGET = Path(__file__).parent / "standalone.yaml"

HEAD = """\
# Configuration of `pulsarctl standalone -c FILE`. Every key with its default; the names are Pulsar's.
# A released Pulsar's own standalone.conf works in the place of this file too.
# Stronger than a file: PULSARCTL_CONF_<key> in the environment, then -X key=value on the command line.
# Generated from broker_core/config/ by `make docs`; do not edit here.
"""

TITLES = {
    "server": "Addresses, and the life of the process",
    "connection": "Connections",
    "commands": "What one command of a client may carry",
    "http": "What clients of the admin API may hold",
    "storage": "Storage",
    "topics": "Topics and their limits",
    "topic_lists": "Lists of topics",
    "dispatch": "Dispatch to consumers",
    "policies": "Policies where neither topic nor namespace has one",
    "rates": "Rates (per second)",
    "backlog_quota": "Backlog quotas",
    "deduplication": "Deduplication",
    "delayed": "Delayed delivery",
    "inactive": "Topics that nobody uses",
    "schema": "Schemas",
}


def standalone_yaml() -> str:
    lines = [HEAD]
    section = None
    for name, field, _value in BrokerConfig().settings():
        if name != section:
            section = name
            lines.append(f"\n# --- {TITLES[name]}\n")
        setting: Setting = field.metadata["setting"]
        lines.append(f"\n# {setting.doc}\n{setting.key}: {json.dumps(setting.file_default)}\n")
    return "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(standalone_yaml(), encoding="utf-8")
