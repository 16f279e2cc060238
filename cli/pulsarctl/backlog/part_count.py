"""Counts one part of a plan: the work of one task."""

from dataclasses import dataclass, replace

from pulsarctl.backlog.counting import COLUMNS, Moment, count
from pulsarctl.backlog.tally import Tally
from pulsarctl.tables.access import Access
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable


@dataclass(frozen=True, slots=True)
class PartCount:
    """Small, and pickled to each task."""

    access: Access
    moment: Moment

    def __call__(self, part: LedgerRange) -> dict[str, Tally]:
        """Return the tallies by subscription. Each entry is read only once. Raises what reading raises."""
        options = TableOptions(
            topics=(part.topic,),
            access=self.access,
            unit="entry",
            columns=COLUMNS,
            fail_on_data_loss=False,  # what is trimmed after the survey is no longer part of a backlog
        )
        table = TopicTable(options)
        return count(part, table.read(replace(part, subscriptions=None)), self.moment)
