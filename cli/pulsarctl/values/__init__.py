"""What users type, and its values: names, message IDs, positions, times, and sizes. One grammar for all commands.

Imports only errors.
"""
