"""Journal and ledger files: groups that are synced, entries that are written, read, and cached."""
