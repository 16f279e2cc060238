"""Entries straight from the binary protocol, without a trace on the broker: connection, look-up, reader.

`read` and Spark import it; it knows no official client.
"""
