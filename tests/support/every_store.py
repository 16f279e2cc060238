"""A broker that offloads to whatever store a policy names."""

from broker_core.config.broker import BrokerConfig
from broker_core.config.offload import OffloadConfig
from broker_core.testing import FREE_PORTS

STORES = "*,s3://bucket?endpoint_override=http://s3"  # the endpoint is in tests/long/walk
EVERY_STORE = BrokerConfig(server=FREE_PORTS, offload=OffloadConfig(allowed_stores=STORES))
