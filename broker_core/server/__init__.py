"""The binary protocol's end: listeners, connections, sessions, back-pressure, and a handler for each command.

The top of the broker: only `testing` and `pulsarctl standalone` import it.
"""
