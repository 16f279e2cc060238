"""Raw entries over the binary protocol, without a trace on the broker: connection, lookup, and reader.

`read` and Spark import it. It does not import the official client.
"""
