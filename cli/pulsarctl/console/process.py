"""The console as the business of a whole process: start, serve until a signal, stop."""

import socket
from collections.abc import Callable, Sequence

from broker_core.console.page import PageFrame
from broker_core.server.running import run_loop, stop_on_signals
from pulsarctl.console.remote_api import RemoteAdminApi
from pulsarctl.console.server import ConsoleServer
from pulsarctl.settings.settings import Settings


def run(
    settings: Settings, frame: PageFrame, sockets: Sequence[socket.socket], announce: Callable[[str], None]
) -> None:
    """`announce` is called with the address once it answers."""
    run_loop(_serve(settings, frame, sockets, announce))


async def _serve(
    settings: Settings, frame: PageFrame, sockets: Sequence[socket.socket], announce: Callable[[str], None]
) -> None:
    stop, api = stop_on_signals(), RemoteAdminApi(settings)
    server = ConsoleServer(frame, api)
    try:
        await server.start(sockets)
        announce(server.url)
        await stop.wait()
        await server.close()
    finally:
        api.close()
