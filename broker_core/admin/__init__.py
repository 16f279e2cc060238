"""Pulsar's admin REST API over the broker's methods: routes, handlers of a few lines, bodies in and out.

Only `server` imports it.
"""
