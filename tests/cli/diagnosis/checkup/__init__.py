"""`pulsarctl doctor` and its rules."""
