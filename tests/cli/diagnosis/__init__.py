"""What `explain`, `describe`, `doctor`, and `check` find on a real broker."""
