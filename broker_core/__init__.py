"""The bundled broker: wire codec, storage, messaging, admin REST server."""

__version__ = "0.1.0"
