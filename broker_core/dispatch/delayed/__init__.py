"""Delayed delivery: entries that a Shared or Key_Shared subscription may not send before their delivery time.

    tracker.py      the delayed entries of one subscription, and which of them are due
    waiting.py      the set of these entries: one byte each
    time_index.py   the same entries in order of time: the next ones in memory, the others in sorted buckets
    bucket.py       one sorted bucket
    bucket_files.py the files of all buckets, written and read off the event loop
    alarms.py       callbacks at a wall time

All of it can be rebuilt from the log, where each record says which of its entries have a delivery time. When its first
consumer connects, a dispatcher reads all unacknowledged entries anyway, also after a restart. So nothing here is
synced, and a crash loses nothing.
"""
