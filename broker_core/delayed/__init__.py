"""Delayed delivery: entries that a Shared or Key_Shared subscription may not send before their time.

    tracker.py      what one subscription holds back, and what is due of it
    waiting.py      which entries that is: one byte each
    time_index.py   the same in order of time: the next ones in memory, the rest in sorted buckets
    bucket.py       one sorted bucket
    bucket_files.py the files of all buckets, written and read beside the event loop
    alarms.py       calls back at a wall time

All of it can be made again from the log, where each record says which of its entries have a delivery time: a
dispatcher reads everything that is not acknowledged anyway when its first consumer comes, after a restart too. So
nothing here is ever synced, and a crash can lose nothing.
"""
