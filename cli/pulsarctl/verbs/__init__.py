"""Verbs that several nouns share: policies, cursors, peeking.

Commands import it, and `state` for the policies.
"""
