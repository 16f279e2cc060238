"""The storage engine: journal, ledgers, cursors, metadata, recovery (`FORMAT.md` draws the files).

Knows its section of the configuration and the clock; raises errors of its own.
"""
