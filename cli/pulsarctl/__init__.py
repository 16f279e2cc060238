"""`pulsarctl`: admin and operations toolkit for Apache Pulsar, with a bundled broker."""

from broker_core import __version__ as __version__
