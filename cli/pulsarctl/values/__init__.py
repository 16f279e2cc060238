"""What people type and the values it stands for: names, positions, times, sizes. One grammar for all commands.

Imports errors only.
"""
