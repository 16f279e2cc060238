"""Programs that inspect a directory, and that rebuild a lost catalog. The broker never runs them."""
