"""Topics as a whole: which ones exist, and how they are created, loaded, watched, and deleted.

`broker` and what is above it import it.
"""
