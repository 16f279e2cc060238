"""The parts of files: blocks, entries, changes, and acknowledgments as bytes and as values."""
