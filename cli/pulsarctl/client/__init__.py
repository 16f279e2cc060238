"""Producers and consumers of the official client, and their settings. Only this package imports the client library.

`produce`, `consume`, and their commands import it.
"""
