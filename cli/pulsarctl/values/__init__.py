"""The words that users type, and their values: names, message IDs, positions, times, sizes. One grammar for all.

Imports only errors.
"""
