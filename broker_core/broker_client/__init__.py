"""This process as a client of other brokers: the connection that replicators and the proxy share."""
