"""Outcomes of transactions are remembered for a while, and not without end."""

from broker_core.storage.records.transaction_outcomes import REMEMBER_MAX, REMEMBER_MS, Outcomes


def test_an_outcome_is_forgotten_after_its_time() -> None:
    outcomes = Outcomes([(1, 1, 1000)])
    outcomes.add(2, 1000 + REMEMBER_MS, commit=False)
    assert (outcomes.was_committed(1), outcomes.was_committed(2)) == (True, False)
    outcomes.add(3, 1001 + REMEMBER_MS, commit=True)
    assert (outcomes.was_committed(1), outcomes.was_committed(2)) == (None, False)


def test_the_oldest_of_too_many_outcomes_is_forgotten() -> None:
    outcomes = Outcomes((number, 1, 1000) for number in range(REMEMBER_MAX))
    outcomes.add(REMEMBER_MAX, 1000, commit=True)
    assert [outcomes.was_committed(number) for number in (0, 1, REMEMBER_MAX)] == [None, True, True]
