"""How clients of the V5 API name the producers and consumers that they have in each segment of a topic."""

import re

_IN_SEGMENT = re.compile(r"-seg-[0-9]+\Z")


def name_in_segment(name: str, segment_id: int) -> str:
    """`name`: that of the application."""
    return f"{name}-seg-{segment_id}"


def without_segment(name: str) -> str:
    """The name of the application; unchanged for a client that knows no segments."""
    return _IN_SEGMENT.sub("", name)
