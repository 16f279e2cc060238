"""The HTTP library's connection, told to carry out a request whatever comes after it.

Imported with the HTTP library, in a thread (`app.start_admin`).
"""

from __future__ import annotations

import asyncio

from aiohttp import web

_HEAD_END = b"\r\n\r\n"


class Connection(web.RequestHandler):
    """Some clients send a body without saying so (`{}` after a DELETE, with neither Content-Length nor chunks).

    The library reads a whole segment or none of it, so such bytes would undo the request before them. Pulsar's server
    answers the request, and then the bytes that are none with 400: so does this one, as it reads a head by itself.
    """

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if len(_HEAD_END) <= end < len(data):
            super().data_received(data[:end])
            data = data[end:]
        super().data_received(data)


class Connections(web.Server):
    def __call__(self) -> web.RequestHandler:
        loop = asyncio.get_running_loop()
        return Connection(self, loop=loop, access_log=None)  # type: ignore[arg-type]  # None is how to have no access log
