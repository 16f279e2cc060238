"""The identity of the client and its TLS, for every connection.

The admin API, the official client, the raw reader, and Spark tasks build on it. It builds on `settings`.
"""
