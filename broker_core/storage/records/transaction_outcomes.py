"""How transactions ended a short while ago, so that a client that lost the answer to END_TXN can ask again."""

from collections.abc import Iterable

REMEMBER_MS = 300_000
REMEMBER_MAX = 100_000

Outcome = tuple[int, int, int]  # ID of the transaction, whether it was committed, when it ended


class Outcomes:
    """Times are those of the wall clock, because a restart keeps them."""

    def __init__(self, stored: Iterable[Outcome] = ()) -> None:
        self._ended = {transaction_id: (ended_ms, bool(commit)) for transaction_id, commit, ended_ms in stored}
        self.has_changed = False  # since the last checkpoint

    def add(self, transaction_id: int, ended_ms: int, *, commit: bool) -> None:
        """In order of time."""
        self._ended[transaction_id] = ended_ms, commit
        self.has_changed = True
        while self._is_over(ended_ms):
            del self._ended[next(iter(self._ended))]

    def _is_over(self, now_ms: int) -> bool:
        oldest_ms, _ = next(iter(self._ended.values()))
        return len(self._ended) > REMEMBER_MAX or oldest_ms < now_ms - REMEMBER_MS

    def was_committed(self, transaction_id: int) -> bool | None:
        """None if it is not known, or not any more."""
        ended = self._ended.get(transaction_id)
        return None if ended is None else ended[1]

    def stored(self) -> list[Outcome]:
        """In order of time."""
        return [(transaction_id, int(commit), ended_ms) for transaction_id, (ended_ms, commit) in self._ended.items()]
