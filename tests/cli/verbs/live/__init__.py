"""`pulsarctl tail` and `pulsarctl top`."""
