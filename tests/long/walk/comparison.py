"""The four answers of one line, compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tests.long.walk.answer import compared, of_pulsar_admin, of_pulsarctl
from tests.long.walk.explained import Between, reason_for
from tests.long.walk.lines import Line
from tests.long.walk.walking import Pair
from tests.support.runner import Outcome

SHOWN = 700


@dataclass(frozen=True, slots=True)
class Difference:
    """Two answers that are not the same, and the name of the reason, if there is one."""

    between: Between
    one: str
    other: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    line: Line
    outcomes: dict[str, Outcome]
    differences: list[Difference]

    @property
    def is_equal(self) -> bool:
        return not self.differences

    @property
    def unexplained(self) -> list[Difference]:
        return [each for each in self.differences if each.reason is None]

    @property
    def reasons(self) -> set[str]:
        return {each.reason for each in self.differences if each.reason}

    def shown(self) -> str:
        pairs = [
            f"  {each.between}\n    {each.one[:SHOWN]!r}\n    {each.other[:SHOWN]!r}\n" for each in self.unexplained
        ]
        return f"{self.line.name}: {self.line.text}\n{''.join(pairs)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "part": self.line.part,
            "number": self.line.number,
            "line": self.line.text,
            "answers": {name: asdict(outcome) for name, outcome in self.outcomes.items()},
            "differences": [{"between": each.between, "reason": each.reason} for each in self.differences],
        }


def compare(line: Line, admin: Pair, ours: Pair) -> Comparison:
    """`admin`: the outcomes of pulsar-admin; `ours`: those of `pulsarctl`."""
    a, b, c, d = (compared(each) for each in (admin.pulsar, admin.here, ours.pulsar, ours.here))
    pairs = (
        (Between.BROKERS_BY_PULSAR_ADMIN, _whole(a), _whole(b)),
        (Between.BROKERS_BY_PULSARCTL, _whole(c), _whole(d)),
        (Between.TOOLS_ON_PULSAR, of_pulsar_admin(a), of_pulsarctl(c)),
        (Between.TOOLS_HERE, of_pulsar_admin(b), of_pulsarctl(d)),
    )
    found = [
        Difference(between, one, other, reason_for(line, between, one, other))
        for between, one, other in pairs
        if one != other
    ]
    names = ("pulsar-admin on Pulsar", "pulsar-admin here", "pulsarctl on Pulsar", "pulsarctl here")
    return Comparison(line, dict(zip(names, (a, b, c, d), strict=True)), found)


def _whole(outcome: Outcome) -> str:
    return f"exit {outcome.exit_code}\n{outcome.stdout}\n{outcome.stderr}"
