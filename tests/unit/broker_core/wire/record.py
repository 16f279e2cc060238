"""Records golden sessions: official clients talk to a broker through a proxy that records every byte.

    python -m tests.unit.broker_core.wire.record --broker 127.0.0.1:6650 --web 127.0.0.1:8080
    python -m tests.unit.broker_core.wire.record --broker 127.0.0.1:6650 --name go_batched -- ./program {url}

The first form runs the scenarios of `scenarios.py` with the Python client, the second any other program. Start the
broker with `maxMessageSize=20000`, so that a chunked message stays small. The proxy puts its own address into the
answers to LOOKUP; otherwise clients would bypass it.
"""

import argparse
import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator

from broker_core.wire.commands import SIZES, frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.unit.broker_core.wire import scenarios
from tests.unit.broker_core.wire.sessions import GOLDEN, TO_BROKER, TO_CLIENT, Chunk, write_session


class RecordingProxy:
    """Listens on a free port of 127.0.0.1; `chunks` grows while clients talk."""

    def __init__(self, host: str, port: int) -> None:
        self._broker = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"
        self.chunks: list[Chunk] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self._broker)
            threading.Thread(target=self._to_broker, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._to_client, args=(broker, client), daemon=True).start()

    def _to_broker(self, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                self.chunks.append(Chunk(TO_BROKER, data))
                broker.sendall(data)
        broker.close()

    def _to_client(self, broker: socket.socket, client: socket.socket) -> None:
        held = b""
        with contextlib.suppress(OSError):
            while data := broker.recv(65536):
                held += data
                out = b""
                while len(held) >= 4 and len(held) >= (size := 4 + int.from_bytes(held[:4], "big")):
                    out += self._redirected(held[:size])
                    held = held[size:]
                if out:
                    self.chunks.append(Chunk(TO_CLIENT, out))
                    client.sendall(out)
        client.close()

    def _redirected(self, data: bytes) -> bytes:
        _, command_size = SIZES.unpack_from(data)
        command = BaseCommand.FromString(data[8 : 8 + command_size])
        if not command.lookupTopicResponse.brokerServiceUrl:
            return data
        command.lookupTopicResponse.brokerServiceUrl = self.url
        return frame(command)


@contextlib.contextmanager
def recorded(name: str, broker: str) -> Iterator[RecordingProxy]:
    host, port = broker.split(":")
    proxy = RecordingProxy(host, int(port))
    yield proxy
    proxy.close()
    write_session(GOLDEN / f"{name}.bin", proxy.chunks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", required=True, help="host:port of the binary protocol")
    parser.add_argument("--web", help="host:port of the admin interface, for partitioned topics")
    parser.add_argument("--name", help="golden file to write, for a command of your own")
    parser.add_argument("command", nargs="*", help="with {url} where the service URL goes")
    arguments = parser.parse_args()
    if arguments.command:
        with recorded(arguments.name, arguments.broker) as proxy:
            subprocess.run([word.format(url=proxy.url) for word in arguments.command], check=True)
        return
    for name, play in scenarios.SCENARIOS.items():
        with recorded(name, arguments.broker) as proxy:
            play(proxy.url, arguments.web)


if __name__ == "__main__":
    main()
