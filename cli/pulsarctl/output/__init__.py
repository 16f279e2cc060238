"""The only code that writes to stdout and stderr, and the escaping for terminals.

Imports only errors; every package may import it.
"""
