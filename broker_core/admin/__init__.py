"""Pulsar's admin REST API over the broker's methods: routes, and handlers of a few lines that read and write bodies.

Only `server` imports it.
"""
