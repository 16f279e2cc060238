"""`pulsarctl`: admin and operations toolkit for Apache Pulsar, with a bundled broker."""

__version__ = "0.1.0"
