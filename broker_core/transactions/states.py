"""The states of a transaction, and the changes between them as data."""

import enum


class TransactionState(enum.Enum):
    """OPEN takes messages. COMMITTING and ABORTING wait until the outcome is on disk, which decides."""

    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    ABORTING = "ABORTING"
    COMMITTED = "COMMITTED"
    ABORTED = "ABORTED"


_S = TransactionState
TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    _S.OPEN: frozenset({_S.COMMITTING, _S.ABORTING}),
    _S.COMMITTING: frozenset({_S.COMMITTED, _S.OPEN}),  # OPEN again: the outcome could not be written
    _S.ABORTING: frozenset({_S.ABORTED, _S.OPEN}),
    _S.COMMITTED: frozenset(),
    _S.ABORTED: frozenset(),
}
ENDING = {True: _S.COMMITTING, False: _S.ABORTING}  # by whether it is committed
ENDED = {True: _S.COMMITTED, False: _S.ABORTED}
