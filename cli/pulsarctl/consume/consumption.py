"""One run of `consume`, as its options describe it."""

from dataclasses import dataclass

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.consume.consuming import Stops
from pulsarctl.consume.subscribing import Reach
from pulsarctl.records.record_output import Show


@dataclass(frozen=True, slots=True)
class Consumption:
    """The messages within `reach`, at most `rate` per second (0: no limit). `show` None prints only their number.

    A temporary subscription is deleted at the end. `timeout_seconds` bounds each request.
    """

    reach: Reach
    options: SubscribeOptions
    is_temporary: bool
    show: Show | None
    stops: Stops
    rate: float
    timeout_seconds: float

    @property
    def topic(self) -> str:
        return self.reach.topic

    @property
    def starts_at_end(self) -> bool:
        """Whether the run gets only later messages. False for a named subscription, for which it is unknown."""
        return self.is_temporary and self.reach.start is None and not self.options.from_earliest
