"""What keeps running on a terminal: `tail` and `top`."""
