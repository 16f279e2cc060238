"""Which entry of the source is which entry of the copy, and where positions ascend from one to the other."""

import pytest

from pulsarctl.migration.runs import Runs


def runs(*ledgers: tuple[int, int]) -> Runs:
    """Ledgers by ID, and how many entries each has."""
    found = Runs()
    for ledger_id, entries in ledgers:
        for entry_id in range(entries):
            found.add(ledger_id, entry_id)
    return found


@pytest.mark.parametrize(
    ("copy", "first", "is_above"),
    [
        (runs((21, 6)), 0, True),
        (runs((15, 6)), 0, False),  # the second ledger of the source is 20
        (runs((5, 3), (21, 3)), 0, False),
        (runs((5, 3), (21, 3)), 3, True),  # what is smaller is acknowledged
        (runs((11, 3), (20, 3)), 0, False),  # the same position
        (runs((11, 2), (20, 4)), 0, True),  # the same ledger, one entry later
        (runs((11, 4), (30, 2)), 0, False),
        (runs((5, 6)), 6, True),  # there is nothing left
    ],
)
def test_a_copy_is_above_its_source_if_each_entry_that_is_left_has_a_greater_position(
    copy: Runs, first: int, is_above: bool
) -> None:
    assert copy.is_above(runs((10, 3), (20, 3)), first) == is_above
