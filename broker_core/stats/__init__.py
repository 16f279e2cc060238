"""Statistics as immutable snapshots: topics, subscriptions, metrics, health.

Reads the broker and changes nothing; `admin` and the handlers import it.
"""
