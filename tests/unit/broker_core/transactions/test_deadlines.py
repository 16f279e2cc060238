"""The times at which transactions expire."""

from broker_core.transactions.deadlines import ENDED_MAX, Deadlines
from tests.support.clocks import ShiftedClock
from tests.support.condition import until

DAY_SECONDS = 86_400.0


async def test_the_times_of_ended_transactions_do_not_pile_up() -> None:
    active, expired = {0}, list[int]()
    clock = ShiftedClock()
    deadlines = Deadlines(clock, expired.append, active)
    deadlines.add(0, DAY_SECONDS)
    for transaction_id in range(1, 3 * ENDED_MAX):
        active.add(transaction_id)
        deadlines.add(transaction_id, DAY_SECONDS)
        active.remove(transaction_id)
    assert len(deadlines) <= ENDED_MAX + 4
    clock.ran_seconds += DAY_SECONDS + 1
    deadlines.add(0, 0)
    await until(lambda: expired.count(0) == 2)  # the active one kept its time
    deadlines.close()
