"""Scalable topics over our own connections: the layout of a topic, and publishing, consuming, and reading its segments.

docs/reference/protocol.md "Scalable topics" states the rules of the protocol.
"""
