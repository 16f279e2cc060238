"""Our own client of the binary protocol: entries as they are stored, transactions, and scalable topics.

Readers leave no trace on the broker. It does not import the official client.
"""
