"""A broker with a deliberate bug, which the soak must detect: children are read before their parents are drained."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from broker_core.scalable.layout import Layout, Segment


def everything(self: Layout, is_drained: Mapping[int, bool]) -> list[Segment]:
    left = (one for one in self.segments.values() if one.is_active or not is_drained.get(one.id, False))
    return sorted(left, key=lambda segment: segment.order)


if __name__ == "__main__":
    Layout.ready = everything  # type: ignore[method-assign]  # the mutation
    from pulsarctl.main import main

    sys.argv[1:1] = ["standalone"]
    main()
