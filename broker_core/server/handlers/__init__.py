"""One handler for each command of the binary protocol, grouped by what the command is about.

Only `server.connection` calls them.
"""
