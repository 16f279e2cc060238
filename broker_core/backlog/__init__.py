"""The backlogs of a topic, those of subscriptions and of replicators alike: by name, and how they are skipped, cleared,
and expired. `replication`, `topic`, and what stands above them import it.
"""
