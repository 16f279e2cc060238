"""A proxy in front of brokers."""
