"""The bundled broker: wire codec, storage, messaging, admin REST server.

`__version__` is the version of the whole distribution: the build and `pulsarctl` read it here.
"""

__version__ = "0.1.0"
