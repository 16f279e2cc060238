"""The shares of a read's items, one for each iteration of the event loop, if long commands are among them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from broker_core.wire.frame import Command, Item
from broker_core.wire.long_commands import DIVISIBLE, is_long, parts


def shares(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in order. Each part of a long command is a share of its own, made when it is asked for."""
    for long, group in groupby(items, _is_long):
        if not long:
            yield list(group)
            continue
        for command in group:
            assert isinstance(command, Command)
            for part in parts(command.message):
                yield [Command(command.type, part)]


def _is_long(item: Item) -> bool:
    return isinstance(item, Command) and item.type in DIVISIBLE and item.flaw is None and is_long(item.message)
