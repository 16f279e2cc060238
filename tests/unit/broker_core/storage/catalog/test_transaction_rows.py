"""The rows of transactions, which a checkpoint makes while the broker writes on."""

from broker_core.storage.catalog.tables import Late
from broker_core.storage.catalog.transaction_rows import transaction_rows
from broker_core.storage.records.transactions import Transactions
from tests.support.transactions import transaction

OWNER, LEDGER = 1, 7


def test_a_checkpoint_leaves_the_text_of_a_transaction_to_the_thread_that_commits() -> None:
    transactions = Transactions()
    transactions.wrote(transaction(1), OWNER, LEDGER, 0, 0)
    (row,) = transaction_rows(transactions)
    assert isinstance(row.values[1], Late)
    transactions.wrote(transaction(1), OWNER, LEDGER, 1, 1)
    transactions.wrote(transaction(1), OWNER + 1, LEDGER + 1, 0, 0)
    assert row.resolved().values == (
        1,
        '{"transaction": [1, 1000, 60000, ""], "writes": {"1": [[7, 0, 0]]}, "acks": []}',
    )
