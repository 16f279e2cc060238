"""Power cuts: after each call of a recorded load, the disk is rebuilt, opened, and compared."""
