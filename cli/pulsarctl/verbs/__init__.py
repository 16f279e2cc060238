"""Verbs that several nouns share: policies, cursors, peeking.

Only commands import it.
"""
