"""Mutated frames, credentials, TLS records, and HTTP requests: `make fuzz N=1000000`; a small run is in `make test`."""
