"""The key of a message."""

import base64
import binascii


def from_base64(key: bytes) -> bytes:
    """What Java writes as Base64. Other bytes are the key itself, as for brokers: a message with it can be read."""
    try:
        return base64.b64decode(key, validate=True)
    except binascii.Error:
        return key
