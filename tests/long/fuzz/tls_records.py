"""Feeds mutated TLS records of a recorded handshake to the broker's TLS context, without a socket.

The invariant: OpenSSL refuses them with `SSLError`, waits for more, or completes the handshake with a client whose
certificate it has verified. Nothing else is raised.
"""

from __future__ import annotations

import random
import ssl
from pathlib import Path

from broker_core.config.tls import TlsConfig
from broker_core.security.certificates import Certificates
from tests.long.fuzz.mutation import mutated
from tests.support.authority import Authority

_LARGEST = 1 << 20


class Handshakes:
    """A server's context, and clients that it trusts; `folder` gets their certificates."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        certificate, key = authority.issue("server")
        config = TlsConfig(certificate_file=str(certificate), key_file=str(key), trust_file=str(authority.file))
        self._server = Certificates(config).context
        self._client = ssl.create_default_context(cafile=str(authority.file))
        self._client.load_cert_chain(*authority.issue("client"))

    def run(self, count: int, seed: int) -> dict[str, int]:
        """How many of `count` handshakes completed. Raises `AssertionError`."""
        chance = random.Random(seed)
        return {"TLS records": sum(self._completes(chance, damage=number > 0) for number in range(count))}

    def _completes(self, chance: random.Random, *, damage: bool) -> bool:
        """One handshake; either flight of the client, or both, may be damaged."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = self._server.wrap_bio(to_server, to_client, server_side=True)
        sent = ssl.MemoryBIO()
        client = self._client.wrap_bio(to_client, sent, server_hostname="localhost")
        for _ in range(4):
            if not _step(client):
                return False
            data = sent.read()
            to_server.write(mutated(data, chance) if damage and chance.randrange(2) else data)
            if not _step(server):
                return False
            if to_client.pending > _LARGEST:
                raise AssertionError(f"the server answered {to_client.pending} bytes")
        return _is_verified(server)


def _step(side: ssl.SSLObject) -> bool:
    """Continues the handshake; False if it failed."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return True
    except ssl.SSLError:
        return False
    except Exception as error:
        raise AssertionError(f"a damaged handshake gives {error!r}") from error
    return True


def _is_verified(server: ssl.SSLObject) -> bool:
    try:
        names = server.getpeercert()
    except ValueError:  # the handshake is not complete
        return False
    assert names, "the handshake completed without the certificate of the client"
    return True
