"""Compaction: the last value of each key in its own ledger, and the topic as a compacted reader sees it.

Only `topic` imports it.
"""
