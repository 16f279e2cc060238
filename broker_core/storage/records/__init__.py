"""What files consist of: blocks, entries, changes, and acknowledgments as bytes and as values."""
