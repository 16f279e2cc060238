"""How much and how fast: rates, counts and backlog, each lifted when its cause ends."""
