"""One run of `produce`: what to send, in which order, and how far it came.

Only commands import it.
"""
