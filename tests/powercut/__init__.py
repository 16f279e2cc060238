"""What is on disk after the power went: every call of a recorded load, cut there, opened and compared."""
