"""Reads request bodies and writes answers, with limits on size, memory, and time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.errors import BrokerError
from broker_core.rates.long_text import LongText
from broker_core.rates.time_slices import TimeSlices

if TYPE_CHECKING:
    from aiohttp import web

    from broker_core.admin.body_memory import Share
    from broker_core.admin.call import Answer
    from broker_core.config.http import HttpConfig

SLICE_BYTES = 64 * 1024  # one write, which holds up everything else for 20 to 50 microseconds


class BodyTooLarge(BrokerError, status=413):
    """The body is larger than the limit."""


class BodyTooSlow(BrokerError, status=408):
    """The body did not arrive in time."""


class BodyBroken(BrokerError, status=400):
    """The client disconnected, or what it sends is not a body."""


async def read_body(request: web.BaseRequest, share: Share, config: HttpConfig, *, is_large: bool) -> bytes:
    """Raises `BodyTooLarge`, `BodyTooSlow`, `BodyBroken`, or `BodyMemoryFull`.

    The body of a GET has no meaning and is discarded: a request that waits for memory must not hold any.
    """
    limit, parts, size = _Limit.of(config, is_large=is_large), [], 0
    is_kept = request.method not in ("GET", "HEAD")
    if not request.can_read_body:
        return b""
    limit.check(request.content_length or 0)
    _invite(request)
    slices = TimeSlices(0)
    try:
        async with asyncio.timeout(config.idle_seconds):
            async for part in request.content.iter_any():
                size += len(part)
                limit.check(size)
                if is_kept:
                    share.take_now(len(part))
                    parts.append(part)
                await slices.pause()  # the library does not: tiny HTTP chunks of 256 KB would take 50 ms
    except TimeoutError:
        raise BodyTooSlow(f"the request body did not arrive within {config.idle_seconds:g} seconds") from None
    except BrokerError:
        raise
    except Exception as error:  # the HTTP library has many, some from its parser
        raise BodyBroken(f"cannot read the request body: {type(error).__name__}") from None
    return b"".join(parts)


def _invite(request: web.BaseRequest) -> None:
    """curl asks before it sends a larger body, and waits a second for this answer (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class _Limit(NamedTuple):
    """The maximum size of a body, and the setting that it is from."""

    size: int
    key: str

    @classmethod
    def of(cls, config: HttpConfig, *, is_large: bool) -> _Limit:
        if is_large:
            return cls(config.max_places_mb << 20, "httpMaxCompactionPlacesMB")
        return cls(config.max_body_bytes, "httpMaxRequestSize")

    def check(self, size: int) -> None:
        if size > self.size:
            raise BodyTooLarge(f"the request body has more than {self.size} bytes ({self.key})")


async def send(library: Any, request: web.BaseRequest, answer: Answer, config: HttpConfig) -> web.StreamResponse:
    """Returns when the client has read the answer, except what is in socket buffers; disconnects a slow client."""
    headers = [("Content-Type", answer.content_type)] if answer.body else []
    headers += answer.headers
    if len(answer.body) <= SLICE_BYTES:
        small: web.StreamResponse = library.Response(status=answer.status, body=bytes(answer.body), headers=headers)
        return small
    response: web.StreamResponse = library.StreamResponse(status=answer.status, headers=headers)
    response.content_length = len(answer.body)
    try:
        async with asyncio.timeout(config.request_seconds):
            await _write(request, response, answer.body)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:  # the client has left: nothing that is worth a line in the log
        pass
    return response


async def _write(request: web.BaseRequest, response: web.StreamResponse, body: bytes | LongText) -> None:
    await response.prepare(request)
    if request.method != "HEAD":
        slices = TimeSlices()
        for piece in body.taken() if isinstance(body, LongText) else _slices(body):
            await response.write(piece)
            await slices.pause()
    await response.write_eof()


def _slices(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    return (view[start : start + SLICE_BYTES] for start in range(0, len(view), SLICE_BYTES))
