"""One noun or one command a module: parse, typed client, rows, render. None imports another.

Loaded by name from `shell.nouns`, when it is used.
"""
