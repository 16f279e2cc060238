"""One run of `consume`: what to subscribe to, where it ends, and how each record is settled.

Only commands import it.
"""
