"""Non-persistent topics: a topic over a log that keeps nothing.

Only `topics`, which loads them, and `admin`, which reports on them, import it.
"""
