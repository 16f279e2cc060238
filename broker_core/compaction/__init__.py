"""Compaction: the last value of each key in a ledger of its own, and the topic as a compacted reader sees it.

Only `topic` imports it.
"""
