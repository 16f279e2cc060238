"""Schemas on the command line: definitions in files, and the encoding of values.

The commands, `produce`, and `records` import it.
"""
