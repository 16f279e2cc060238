"""What one turn of the event loop handles of the items that a read brought."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from broker_core.wire.frame import Command, Item
from broker_core.wire.long_commands import DIVISIBLE, is_long, parts


def shares(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """The items in order, at most `most` at a time.

    Each part of a long command is a share of its own, made in its turn.
    """
    for long, group in groupby(items, _is_long):
        if not long:
            while share := list(islice(group, most)):
                yield share
            continue
        for command in group:
            assert isinstance(command, Command)
            for part in parts(command.message):
                yield [Command(command.type, part)]


def _is_long(item: Item) -> bool:
    return isinstance(item, Command) and item.type in DIVISIBLE and item.flaw is None and is_long(item.message)
