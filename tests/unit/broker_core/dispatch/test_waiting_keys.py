"""Entries that wait in Key_Shared, and the keys that are in flight."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker_core.dispatch.keys_in_flight import KeysInFlight
from broker_core.dispatch.waiting_keys import WaitingKeys

entries = st.tuples(st.integers(0, 1), st.integers(0, 12))
hashes = st.integers(1, 5)
owners = st.sampled_from(["a", "b"])


class AsOneByOne(RuleBasedStateMachine):
    """`WaitingKeys` compared with a plain dict of entries, while the owners of hashes change."""

    def __init__(self) -> None:
        super().__init__()
        self.real = WaitingKeys[str]()
        self.model: dict[tuple[int, int], int] = {}
        self.owner: dict[int, str | None] = {}

    def of(self, sticky_hash: int) -> str | None:
        return self.owner.get(sticky_hash)

    @rule(entry=entries)
    def add(self, entry: tuple[int, int]) -> None:
        sticky_hash = 1 + sum(entry) % 5  # an entry keeps its key
        self.real.add(entry, sticky_hash, self.of(sticky_hash))
        self.model.setdefault(entry, sticky_hash)

    @rule(entry=entries)
    def discard(self, entry: tuple[int, int]) -> None:
        self.real.discard(entry)
        self.model.pop(entry, None)

    @rule(last=entries)
    def discard_up_to(self, last: tuple[int, int]) -> None:
        self.real.discard_up_to(last)
        self.model = {entry: one for entry, one in self.model.items() if entry > last}

    @rule(sticky_hash=hashes, owner=owners)
    def become_free(self, sticky_hash: int, owner: str) -> None:
        if self.of(sticky_hash) is None:
            self.owner[sticky_hash] = owner
            self.real.unpark(sticky_hash, owner)

    @rule(assigned=st.dictionaries(hashes, owners))
    def reassign(self, assigned: dict[int, str]) -> None:
        self.owner = dict(assigned)
        self.real.reassign(self.of)

    @invariant()
    def they_agree(self) -> None:
        assert len(self.real) == len(self.model)
        assert all(self.real.hash_of(entry) == sticky_hash for entry, sticky_hash in self.model.items())
        for owner in ("a", "b"):
            mine = [entry for entry, sticky_hash in self.model.items() if self.of(sticky_hash) == owner]
            assert self.real.lowest([owner]) == (min(mine) if mine else None)


TestAsOneByOne = AsOneByOne.TestCase


def test_reading_spans_only_small_gaps() -> None:
    waiting = WaitingKeys[str]()
    for entry_id in (5, 6, 9, 30):
        waiting.add((1, entry_id), 1, "a")
    assert waiting.reach((1, 5), 100, 3) == 5
    assert waiting.reach((1, 5), 100, 25) == 26
    assert waiting.reach((1, 5), 2, 25) == 2


def test_a_hash_is_held_until_its_last_entry_is_acknowledged() -> None:
    flight = KeysInFlight[str]()
    flight.add(1, 1, 77, "a")
    flight.add(1, 2, 77, "a")
    assert flight.remove(1, 1) == (77, False)
    assert flight.remove(1, 1) is None
    assert flight.holder(77) == "a"
    assert list(flight.held()) == [(77, "a", 1)]
    assert flight.remove(1, 2) == (77, True)
    assert flight.holder(77) is None


def test_entries_in_flight_up_to_a_position_are_found() -> None:
    flight = KeysInFlight[str]()
    for entry in ((1, 1), (1, 9), (2, 3)):
        flight.add(*entry, 5, "a")
    assert sorted(flight.up_to((1, 5))) == [(1, 1)]
    assert sorted(flight.up_to((2, 3))) == [(1, 1), (1, 9), (2, 3)]


def test_expired_entries_of_an_inactive_owner_are_released() -> None:
    waiting = WaitingKeys[str]()
    for entry_id in range(100):
        waiting.add((0, entry_id), 1, "idle")
        waiting.add((1, entry_id), 2, None)
    waiting.discard_up_to((1, 98))
    assert waiting._ready == {"idle": []}
    assert waiting._parked == {2: [(1, 99)]}
    waiting.discard_up_to((1, 99))
    assert not waiting.is_parked(2)
