"""One noun or one command in each module: parse, typed client, rows, render. None imports another.

A module is loaded by name from `shell.nouns` when it is used.
"""
