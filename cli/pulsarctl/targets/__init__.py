"""The namespaces, topics, and subscriptions that one command acts on, named, matched, or listed."""
