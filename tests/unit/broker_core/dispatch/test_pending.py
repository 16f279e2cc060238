"""The pending entries of a consumer, compared with a dict."""

import itertools
from array import array

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker_core.dispatch import pending
from broker_core.dispatch.pending import Pending

IDS = st.integers(0, 40)
LEDGERS = st.integers(1, 3)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.real = Pending()
        self.model: dict[tuple[int, int], int] = {}

    @rule(ledger=LEDGERS, first=IDS, counts=st.lists(st.integers(1, 5), min_size=1, max_size=12))
    def add(self, ledger: int, first: int, counts: list[int]) -> None:
        wanted = [(ledger, first + i) for i in range(len(counts))]
        free = list(itertools.takewhile(lambda entry: entry not in self.model, wanted))
        if free:
            self.real.add(ledger, first, array("I", counts[: len(free)]))
            self.model.update(zip(free, counts, strict=False))

    @rule(ledger=LEDGERS, entry=IDS)
    def discard(self, ledger: int, entry: int) -> None:
        assert self.real.discard(ledger, entry) == self.model.pop((ledger, entry), 0)

    @rule(ledger=LEDGERS, entries=st.lists(IDS, max_size=20))
    def discard_all(self, ledger: int, entries: list[int]) -> None:
        absent = [e for e in entries if not self.model.pop((ledger, e), 0)]
        assert self.real.discard_all(ledger, entries) == absent

    @rule(ledger=LEDGERS, entry=IDS)
    def discard_up_to(self, ledger: int, entry: int) -> None:
        self.real.discard_up_to(ledger, entry)
        self.model = {held: n for held, n in self.model.items() if held > (ledger, entry)}

    @rule(ledger=LEDGERS, entry=IDS, messages=st.integers(1, 6))
    def reduce(self, ledger: int, entry: int, messages: int) -> None:
        held = self.model.get((ledger, entry), 0)
        assert self.real.reduce(ledger, entry, messages) == (held > 0)
        if held:
            self.model[ledger, entry] = max(1, held - messages)

    @rule()
    def clear(self) -> None:
        self.real.clear()
        self.model.clear()

    @invariant()
    def it_is_the_models(self) -> None:
        assert list(self.real) == sorted(self.model)
        assert len(self.real) == len(self.model)
        assert self.real.messages == sum(self.model.values())
        assert all(self.real.count(*entry) == n for entry, n in self.model.items())


class CompactingModel(Model):
    """The same when rows are removed at once."""

    def __init__(self) -> None:
        super().__init__()
        pending.GONE_ROWS_MIN = 0

    def teardown(self) -> None:
        pending.GONE_ROWS_MIN = 1024


TestPending = Model.TestCase
TestCompacting = CompactingModel.TestCase
TestPending.settings = TestCompacting.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_entries_can_be_discarded_during_iteration() -> None:
    held = Pending()
    held.add(7, 0, [1] * 10)
    seen = [held.discard(*entry) for entry in held]
    assert seen == [1] * 10
    assert len(held) == held.messages == 0


def test_entry_ids_may_exceed_32_bits() -> None:
    """A non-persistent topic counts entries in one ledger for as long as the broker runs."""
    pending, first = Pending(), (1 << 32) - 1
    pending.add(1, first, [1, 1, 1])
    assert pending.discard(1, first + 1) == 1
    pending.add(1, first + 1, [2])
    assert list(pending) == [(1, first), (1, first + 1), (1, first + 2)]
