"""The storage engine: journal, ledgers, cursors, metadata, recovery (`FORMAT.md` draws the files).

Knows only its section of the configuration and the clock, and raises its own errors.
"""
