"""The policies of topics and namespaces: a module for each heading, with the flags of its policies and their rows.

Only `metadata.policies.installing` reads the rows, and only commands call it.
"""
