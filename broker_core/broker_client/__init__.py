"""This process as a client of other brokers: the connection, credentials, and TLS of replicators and the proxy."""
