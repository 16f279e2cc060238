"""A topic's log: its ledgers, cursors, and copies, and the checkpoints of all of them."""
