"""The endpoints of the resource classes of Apache Pulsar 4.0.7, by method and path."""

from pathlib import Path

ENDPOINTS = [tuple(line.split()) for line in Path(__file__).with_suffix(".txt").read_text().splitlines()]
