"""Mutated authentication data and TLS records: `make fuzz N=1000000`; a small run is in `make test`."""
