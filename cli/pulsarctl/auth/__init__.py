"""Who the client is, and how it speaks TLS: one answer for all that connects.

The admin API, the official client, the raw reader, and Spark tasks build on it. It builds on `settings`.
"""
