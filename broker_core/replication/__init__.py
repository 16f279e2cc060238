"""Copies the messages of topics to other clusters (docs/how-to/geo-replication.md).

`topic` imports it. A topic has one replicator for each other cluster: a durable cursor and a producer over there.
"""
