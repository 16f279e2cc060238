"""Actions on several topics or namespaces in parallel. A failure is reported, and the other names are still handled."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pulsarctl.errors import NotFound, PartialFailure, UsageProblem
from pulsarctl.output import render, streams
from pulsarctl.shell.call import Call
from pulsarctl.shell.progress import progress
from pulsarctl.values.text_files import read_text

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient
    from pulsarctl.bulk.crew import Outcome

Found = TypeVar("Found")
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Targets:
    """Each name once. `discovered`: the command line gives a pattern or a namespace, not the names."""

    names: list[str]
    discovered: bool
    kind: str = "topic"

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def several(self) -> bool:
        """Whether losing their data needs a confirmation without a terminal, too."""
        return self.discovered or len(self.names) > 1

    @classmethod
    def named(cls, names: Iterable[str], kind: str = "topic") -> "Targets":
        return cls(list(dict.fromkeys(names)), discovered=False, kind=kind)

    @classmethod
    def matching(cls, call: Call, asked: str, names: Iterable[str], kind: str = "topic") -> "Targets":
        """If nothing matches, it says so."""
        chosen = cls(list(dict.fromkeys(names)), discovered=True, kind=kind)
        if not chosen:
            call.notice(f"no {kind} matches {asked}")
        return chosen

    @classmethod
    def all_in(cls, call: Call, place: str, names: Iterable[str], kind: str) -> "Targets":
        """An empty place is not a mistake, so a scheduler gets no notice of it."""
        chosen = cls(list(dict.fromkeys(names)), discovered=True, kind=kind)
        if not chosen and render.is_watched():
            call.notice(f"{place} has no {kind}s")
        return chosen


@dataclass(frozen=True, slots=True)
class Kind:
    """Topics or namespaces. `names_in`: all in a place; `matching`: those that a pattern with its place matches."""

    name: str
    usage: str
    names_in: Callable[[Call, str], Iterable[str]]
    matching: Callable[[Call, str], Iterable[str]]


def choose(
    call: Call, kind: Kind, named: list[str] | None, *, regex: bool, from_file: str | None, place: str | None
) -> Targets:
    """The topics or namespaces that a command names. An empty file names nothing, not all of a place.

    Raises `UsageProblem`.
    """
    names = [*(named or []), *(lines(from_file) if from_file is not None else [])]
    if from_file is not None and not names:
        call.notice(f"no {kind.name} in {'stdin' if from_file == '-' else from_file}")
        return Targets([], discovered=True, kind=kind.name)
    if place is not None:
        names = [f"{place}/{name}" if "/" not in name else name for name in names]
    if not names and place is not None:
        return Targets.all_in(call, place, kind.names_in(call, place), kind.name)
    if not names:
        raise UsageProblem(f"no {kind.name} given", hint=f"{call.command_path} {kind.usage}...")
    if not regex:
        return Targets.named(names, kind.name)
    matches = (name for expression in names for name in kind.matching(call, expression))
    return Targets.matching(call, ", ".join(names), matches, kind.name)


def shown(chosen: Targets) -> str:
    """The names for a question, or the first ones and how many there are."""
    names = chosen.names
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{len(names):,} {chosen.kind}s: {', '.join(names[:NAMES_SHOWN])}, and {len(names) - NAMES_SHOWN:,} more"


def act_on(
    call: Call, chosen: Targets, action: "Callable[[AdminClient, str], Found]", *, verb: str, parallel: int
) -> list[Found]:
    """Acts on each name, even after a failure, and returns the results of `action`. See `settle`."""
    from pulsarctl.bulk.crew import Crew

    outcomes: list[Outcome[str, Found]] = []
    with Crew(call.settings, min(parallel, max(1, len(chosen)))) as crew, progress(call) as step:
        for outcome in crew.act(chosen, action):
            outcomes.append(outcome)
            if chosen.several:
                step(f"{chosen.kind}s", len(outcomes), len(chosen))
    return settle(call, chosen, outcomes, verb=verb)


def settle(call: Call, chosen: Targets, outcomes: "list[Outcome[str, Found]]", *, verb: str) -> list[Found]:
    """Return the values of the outcomes that succeeded. `verb` is for the error, such as `delete`.

    A discovered topic is skipped if it, or its subscription, does not exist.

    Raises `PartialFailure` after a notice for each failure. The failure of a single one keeps its own exit code.
    """
    missing = [outcome for outcome in outcomes if chosen.discovered and isinstance(outcome.error, NotFound)]
    if missing and len(missing) == len(outcomes) and missing[0].error is not None:
        raise missing[0].error  # such as a subscription that no topic has
    _raise_failures(call, chosen.kind, [outcome for outcome in outcomes if outcome not in missing], verb=verb)
    return [outcome.value for outcome in outcomes if outcome.error is None]  # type: ignore[misc]  # without an error there is one


def _raise_failures(call: Call, kind: str, outcomes: "list[Outcome[str, Found]]", *, verb: str) -> None:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if len(outcomes) == 1 and failed and failed[0].error is not None:
        raise failed[0].error
    for outcome in failed:
        call.notice(f"error: {outcome.item}: {outcome.error.message if outcome.error else ''}", quiet=False)
    if failed:
        raise PartialFailure(f"cannot {verb} {len(failed):,} of {len(outcomes):,} {kind}s")
    if len(outcomes) > 1:
        call.tell(f"{verb}: {len(outcomes):,} {kind}s done")


def pattern(text: str, asked: str) -> re.Pattern[str]:
    """Compiles a pattern. `asked` is its text on the command line. Raises `UsageProblem`."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageProblem(f"'{asked}' is not a regular expression: {error}") from error


def lines(path: str) -> list[str]:
    """The names in a file or, for `-`, in stdin."""
    text = streams.stdin().read() if path == "-" else read_text(Path(path))
    return [line.strip() for line in text.splitlines() if line.strip()]
