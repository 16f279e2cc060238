"""The typed configuration: one declaration for each key, and the files and variables that set it.

Imports errors only; every other package may import it.
"""
