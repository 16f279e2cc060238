"""Access to a topic for producers: Pulsar's producer access modes (enum ProducerAccessMode). Pure.

    mode                   topic is free   has Shared producers   one has exclusive access, or others wait for it
    Shared                 joins           joins                  ProducerBusy
    Exclusive              takes it        ProducerFenced         ProducerFenced
    WaitForExclusive       takes it        waits                  waits
    ExclusiveWithFencing   takes it        takes it: all others are closed, and those that wait fail

A producer that takes the topic increments its epoch, so that a former owner with an older epoch is recognized when it
comes back. Epochs count from 0 and never decrease, even if storing one fails.
"""

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from broker_core.errors import ProducerBusy, ProducerFenced

P = TypeVar("P")
_TAKEN = "Topic has an existing exclusive producer"


EPOCH_MAX = (1 << 62) - 1  # each owner adds one, and the result has to fit a Java long


class AccessMode(Enum):
    """Values as in the protocol."""

    SHARED = 0
    EXCLUSIVE = 1
    WAIT_FOR_EXCLUSIVE = 2
    EXCLUSIVE_WITH_FENCING = 3


class GrantedAccess(Enum):
    SHARED = "shared"
    EXCLUSIVE = "exclusive"
    WAITING = "waiting"


class Admission(NamedTuple, Generic[P]):
    """The result for a producer. `fenced_waiters` have lost their positions in the queue.

    With `fences_producers` the connected producers must be closed.
    """

    access: GrantedAccess
    fenced_waiters: tuple[P, ...] = ()
    fences_producers: bool = False


class ProducerAccess(Generic[P]):
    """`epoch` is None until a producer has taken the topic."""

    __slots__ = ("_owner", "_stored", "_waiting", "epoch")

    def __init__(self, epoch: int | None) -> None:
        self.epoch = self._stored = epoch
        self._owner: P | None = None
        self._waiting: list[P] = []

    @property
    def is_taken(self) -> bool:
        """Whether a producer has exclusive access, or others wait for it."""
        return self._owner is not None or bool(self._waiting)

    def owns(self, producer: P) -> bool:
        return self._owner is producer

    def request(self, producer: P, mode: AccessMode, wanted_epoch: int | None, *, occupied: bool) -> Admission[P]:
        """Admits `producer` or queues it; `occupied`: other producers are connected.

        `wanted_epoch` is the epoch at which it had the topic before, None if it never had. Raises `ProducerBusy`
        (Shared) or `ProducerFenced`, without changing anything.
        """
        if mode is AccessMode.SHARED:
            if self._owner is not None or self._waiting:
                raise ProducerBusy(_TAKEN)
            return Admission(GrantedAccess.SHARED)
        taken = occupied or self._owner is not None
        if mode is AccessMode.EXCLUSIVE and (taken or self._waiting):
            raise ProducerFenced("Topic has existing shared producers" if occupied and not self._owner else _TAKEN)
        if mode is AccessMode.WAIT_FOR_EXCLUSIVE and taken:
            self._waiting.append(producer)
            return Admission(GrantedAccess.WAITING)
        self._check_epoch(wanted_epoch)
        fenced: tuple[P, ...] = ()
        if mode is AccessMode.EXCLUSIVE_WITH_FENCING:
            fenced = tuple(self._waiting)
            self._waiting.clear()
        self._take(producer, wanted_epoch)
        return Admission(GrantedAccess.EXCLUSIVE, fenced, taken)

    def epoch_stored(self, epoch: int | None) -> None:
        self._stored = epoch

    def epoch_failed(self, producer: P) -> None:
        """Takes back the epoch of a producer that could not be stored: a former owner may come back with its own."""
        if self._owner is producer:
            self.epoch = self._stored

    def leave(self, producer: P, *, occupied: bool) -> P | None:
        """Removes a connected or waiting producer; returns the waiting producer that now takes the topic.

        `occupied`: others are still connected.
        """
        if producer in self._waiting:
            self._waiting.remove(producer)
            return None
        if self._owner is producer:
            self._owner = None
        if self._owner is not None or occupied or not self._waiting:
            return None
        promoted = self._waiting.pop(0)
        self._take(promoted, None)
        return promoted

    def _check_epoch(self, wanted_epoch: int | None) -> None:
        if wanted_epoch is not None and wanted_epoch > EPOCH_MAX:
            raise ProducerFenced(
                f"No topic has epoch {wanted_epoch}: the highest that a producer may name is {EPOCH_MAX}"
            )
        if wanted_epoch is not None and self.epoch is not None and wanted_epoch < self.epoch:
            raise ProducerFenced(
                f"Topic epoch has already moved. Current epoch: {self.epoch}, Producer epoch: {wanted_epoch}"
            )

    def _take(self, producer: P, wanted_epoch: int | None) -> None:
        self._owner = producer
        if wanted_epoch is not None:
            self.epoch = wanted_epoch
        else:
            self.epoch = 0 if self.epoch is None else self.epoch + 1
