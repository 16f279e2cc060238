"""Counts the parts of a plan one after the other in this process, for inputs that are too small for Spark."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pulsarctl.backlog.counting import COLUMNS, Moment, count
from pulsarctl.backlog.tally import Tally
from pulsarctl.tables.access import Access
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable

Tell = Callable[[int, int], None]
"""Learns how many of how many parts are done."""


def run_local(access: Access, parts: Sequence[LedgerRange], moment: Moment, tell: Tell) -> list[dict[str, Tally]]:
    """The tallies of each part, in the order of the plan. Raises what reading raises."""
    found = []
    for done, part in enumerate(parts):
        tell(done, len(parts))
        found.append(count_part(access, part, moment))
    return found


def count_part(access: Access, part: LedgerRange, moment: Moment) -> dict[str, Tally]:
    """Reads and counts one part; the work of one task. Each entry is read once, however many subscriptions want it."""
    options = TableOptions(
        topics=(part.topic,),
        access=access,
        unit="entry",
        columns=COLUMNS,
        fail_on_data_loss=False,  # what is trimmed after the survey is no longer part of a backlog
    )
    table = TopicTable(options)
    return count(part, table.read(replace(part, subscriptions=None)), moment)
