"""Topics as a whole: which there are, and how they are created, loaded, watched, and deleted.

`broker` and what is above it import it.
"""
