"""The only code that writes to stdout and stderr, and what makes text safe for a terminal.

Imports errors only; everything may import it.
"""
