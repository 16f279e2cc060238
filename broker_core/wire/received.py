"""The type of bytes that were read from a socket: a client that reads much at once has them in a bytearray."""

Received = bytes | bytearray
