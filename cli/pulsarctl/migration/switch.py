"""Sends the clients of one partition from the source to the copy.

A bundled broker does it in phases: it takes no more messages, then it delivers none, then no subscription moves, and
once the copy is complete, it sends producers and consumers there. A broker without these phases, such as Apache Pulsar,
terminates the topic.
"""

import time
from dataclasses import dataclass

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError, NotFound, UsageProblem
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.settings.addresses import service_addresses
from pulsarctl.values.clock import pause

IN_USE, STOPPED, HELD, FROZEN, MOVED = "in-use", "stopped", "held", "frozen", "moved"
ACKNOWLEDGE_SECONDS = 10.0  # for consumers, to acknowledge what they have; then they get it again
POLL_SECONDS = 0.1
SCHEMES = ("pulsar", "pulsar+ssl")


@dataclass(frozen=True, slots=True)
class Destination:
    """Service URLs for the clients; one of them may be empty."""

    service_url: str
    service_url_tls: str

    @classmethod
    def of(cls, urls: list[str]) -> "Destination":
        """At most one URL for each of the two schemes. Raises `UsageProblem`."""
        by_scheme: dict[str, str] = {}
        for url in urls:
            service_addresses(url)
            scheme = url.partition("://")[0]
            if scheme not in SCHEMES:
                raise UsageProblem(
                    f"cannot send clients to {url!r}: it is not a pulsar:// or pulsar+ssl:// URL",
                    hint="name the target's address for clients with --client-url",
                )
            if scheme in by_scheme:
                raise UsageProblem(
                    f"cannot send clients to both {by_scheme[scheme]} and {url}", hint=f"name one {scheme}:// URL"
                )
            by_scheme[scheme] = url
        return cls(by_scheme.get("pulsar", ""), by_scheme.get("pulsar+ssl", ""))


class Switch:
    """The switch of clients, with methods in the order of use. Call `undo_after` if one fails before `move`."""

    def __init__(self, source: Endpoint, topic: str, to: Destination | None) -> None:
        """`to` is None if the topic is to be terminated in any case."""
        self._source = source
        self._topic = topic
        self._to = to or Destination("", "")
        self._has_phases = to is not None
        self._has_begun = False

    def takes_consumers(self) -> bool:
        """Whether the source sends its consumers to the copy. Otherwise, they stay until their application ends."""
        admin = self._source.admin()
        try:
            self._has_phases = self._has_phases and has_phases(admin, self._topic)
        finally:
            admin.close()
        return self._has_phases

    def stop_publishing(self) -> None:
        """Nothing is published to the source on return, and producers wait, or get `TopicTerminated`."""
        sends_clients = self.takes_consumers()
        admin = self._source.admin()
        try:
            if not sends_clients:
                admin.topics.terminate(self._topic)
            else:
                self._has_begun = True
                if phase_of(admin, self._topic) not in (HELD, FROZEN):
                    self._enter(admin, STOPPED)
        finally:
            admin.close()

    def stop_delivering(self) -> None:
        """Consumers of durable subscriptions have acknowledged what they have, as far as they do it in time.

        On return, subscriptions stay where they are: an acknowledgment that the copy would not have is refused.
        """
        if not self._has_phases:
            return
        admin = self._source.admin()
        try:
            self._enter(admin, HELD)
            deadline = time.monotonic() + ACKNOWLEDGE_SECONDS
            while admin.topics.migration(self._topic)["waitsFor"] and time.monotonic() < deadline:
                pause(POLL_SECONDS)
            self._enter(admin, FROZEN)
        finally:
            admin.close()

    def move(self) -> None:
        """Sends the clients to the copy. There is no way back: even if the answer is lost, they may be there."""
        try:
            self._to_phase(MOVED)
        except BaseException as error:
            self._say_stopped(error)
            raise

    def undo(self) -> None:
        """The source is in use again, unless its clients have moved or it is terminated."""
        self._to_phase(IN_USE)

    def undo_after(self, error: BaseException) -> None:
        """The same, for an error that is reported: it says so if the topic stays stopped."""
        try:
            self.undo()
        except CliError:
            self._say_stopped(error)

    def _say_stopped(self, error: BaseException) -> None:
        if not self._has_begun:
            return
        stopped = f"{self._topic} is still stopped: run the same command again"
        if isinstance(error, CliError):
            error.hint = f"{error.hint}; {stopped}" if error.hint else stopped
        else:
            error.add_note(stopped)

    def _to_phase(self, phase: str) -> None:
        if not self._has_phases:
            return
        admin = self._source.admin()
        try:
            self._enter(admin, phase)
        finally:
            admin.close()

    def _enter(self, admin: AdminClient, phase: str) -> None:
        admin.topics.set_migration(self._topic, phase, self._to.service_url, self._to.service_url_tls)


def phase_of(admin: AdminClient, topic: str) -> str:
    """Raises `NotFound` if the broker has no phases, or no such topic."""
    return str(admin.topics.migration(topic)["phase"])


def has_phases(admin: AdminClient, topic: str) -> bool:
    """Whether the broker has phases; the topic exists."""
    try:
        phase_of(admin, topic)
    except NotFound:
        return False
    return True


def has_moved(admin: AdminClient, topic: str) -> bool:
    """Whether the clients of the topic have gone to its copy."""
    return has_phases(admin, topic) and phase_of(admin, topic) == MOVED
