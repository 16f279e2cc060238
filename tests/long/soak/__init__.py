"""Repeated kill -9 under load loses no acknowledged message and keeps the order; `make soak`."""
