"""End-to-end encryption from the command line."""
