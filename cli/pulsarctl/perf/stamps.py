"""Payloads that tell when they were sent, for latencies from end to end in one process."""

import secrets
import struct
import time

from pulsarctl.errors import UsageProblem

HEAD = struct.Struct(">8sQ")  # the mark of the run, and nanoseconds of the performance counter


class Stamps:
    """The payloads of one run. `body` is cut to make space for the stamp."""

    def __init__(self, body: bytes) -> None:
        if len(body) < HEAD.size:
            raise UsageProblem(
                f"messages of {len(body)} bytes are too small to measure", hint=f"use -s {HEAD.size} or more"
            )
        self._mark = secrets.token_bytes(8)
        self._rest = body[HEAD.size :]

    def payload(self) -> bytes:
        return HEAD.pack(self._mark, time.perf_counter_ns()) + self._rest

    def sent_ns(self, payload: bytes) -> int | None:
        """The time when a payload was sent, or None if it is not of this run."""
        if len(payload) < HEAD.size:
            return None
        mark, sent_ns = HEAD.unpack_from(payload)
        return int(sent_ns) if mark == self._mark else None
