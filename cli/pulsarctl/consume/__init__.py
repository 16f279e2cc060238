"""One run of `consume`: its subscription, its end, and the settling of each record.

Only commands import it.
"""
