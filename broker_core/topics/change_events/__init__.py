"""Policies of topics for all clusters, on their way between clusters.

They travel as in Apache Pulsar: as events in the system topic `__change_events` of the namespace, which is replicated
(docs/how-to/geo-replication.md "Policies for all clusters").
"""
