"""A broker with a deliberate bug: a key goes to its new consumer while the old one still has messages of it.

The order checker must detect it. Arguments are those of `pulsarctl standalone`.
"""

import sys

from broker_core.dispatch.consumer import Consumer
from broker_core.dispatch.key_shared import KeySharedDispatcher


def owner_at_once(self: KeySharedDispatcher, sticky_hash: int) -> Consumer | None:
    return self.ranges.owner(sticky_hash)


if __name__ == "__main__":
    KeySharedDispatcher._may_have = owner_at_once  # type: ignore[method-assign]  # the mutation
    from pulsarctl.main import main

    sys.argv[1:1] = ["standalone"]
    main()
