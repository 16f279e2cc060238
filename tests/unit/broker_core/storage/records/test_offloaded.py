"""Every sequence of the steps, kills, and starts of a ledger with a copy: what counts is always whole."""

from typing import NamedTuple

from broker_core.storage.records.offloaded import RECORDED, STEPS, CopyState, Step


class World(NamedTuple):
    """A ledger: its state in memory, that of its record, and which of its file and its object are whole."""

    state: CopyState = CopyState.LOCAL
    record: CopyState = CopyState.LOCAL
    file: bool = True
    copy: bool = False


FILE_COUNTS = {CopyState.LOCAL, CopyState.PREPARED, CopyState.BOTH}
COPY_COUNTS = {CopyState.BOTH, CopyState.DROPPING, CopyState.REMOTE, CopyState.RESTORING}


def taken(world: World, step: Step) -> list[World]:
    """The world after a step and what follows from it, and after a kill before and after the record, and the effect."""
    state = STEPS[step][world.state]
    recorded = world._replace(state=state, record=state if step in RECORDED else world.record)
    return [recorded, killed(world), killed(recorded), *(afterwards(recorded, step))]


def afterwards(world: World, step: Step) -> list[World]:
    if step is Step.PREPARE:  # the upload of a new copy, or of none
        return [world._replace(copy=False), world._replace(copy=True)]
    if step in (Step.DISCARD, Step.RESTORE):  # the object is removed some time
        return [world._replace(copy=False), killed(world._replace(copy=False))]
    if step is Step.DELETE_FILE:
        return [world._replace(file=False), killed(world._replace(file=False))]
    if step is Step.PLACE_FILE:
        return [world._replace(file=True), killed(world._replace(file=True))]
    return []


def killed(world: World) -> World:
    """A start knows the record, and whether there is a file."""
    state = world.record
    if state in (CopyState.DROPPING, CopyState.REMOTE, CopyState.RESTORING):
        state = CopyState.DROPPING if world.file else CopyState.REMOTE
    return world._replace(state=state)


def may(world: World, step: Step) -> bool:
    """What the code requires beside the table: the object was read back, or the file was placed."""
    if step is Step.COMPLETE:
        return world.copy
    return world.file if step is Step.RESTORE else world.state in STEPS[step]


def reachable() -> set[World]:
    seen, new = {World()}, [World()]
    while new:
        world = new.pop()
        for step in STEPS:
            if world.state in STEPS[step] and may(world, step):
                for after in taken(world, step):
                    if after not in seen:
                        seen.add(after)
                        new.append(after)
    return seen


def test_what_counts_is_whole_in_every_state_that_can_be_reached() -> None:
    for world in reachable():
        assert world.file or world.state not in FILE_COUNTS, world
        assert world.copy or world.state not in COPY_COUNTS, world


def test_every_state_can_be_reached_and_left() -> None:
    states = {world.state for world in reachable()}
    assert states == set(CopyState)
    assert all(any(state in starts for starts in STEPS.values()) for state in states)


def test_no_step_gives_up_the_only_place_of_a_ledger() -> None:
    for step in (Step.DISCARD, Step.DROP):
        assert not STEPS[step].keys() & {CopyState.DROPPING, CopyState.REMOTE, CopyState.RESTORING}
