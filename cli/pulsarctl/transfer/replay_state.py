"""A replay that has not ended, in two small files of this user: what it replays, and how far it has come.

What it replays is fixed when it starts: the ledgers and cursors of that moment (`internalStats` of each partition), and
bounds that do not depend on the time. Rows have the same numbers in each run, whatever is published or acknowledged in
the meantime. A topic that was deleted since, or created again under its name, has none of them.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from pulsarctl.errors import CliError
from pulsarctl.output import whole_file
from pulsarctl.tables.data_loss import DataLoss
from pulsarctl.transfer.created_topics import check_created, check_partitions


@dataclass(frozen=True, slots=True)
class ReplayState:
    """`name` is that of the producers. Runs must agree on `checkpoint_rows`, after which everything is stored.

    `partitions` are those of the target, and `created` says when each of them, and of the source, was created, by its
    name. It is empty if the admin API did not tell. `first` is where the plan of each partition of the source begins.
    """

    name: str
    checkpoint_rows: int
    start: str
    end: str
    stats: Mapping[str, Any] = field(default_factory=dict, repr=False)
    partitions: int = 0
    created: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, checkpoint_rows: int, start: str, end: str) -> Self:
        return cls(f"replay-{secrets.token_hex(8)}", checkpoint_rows, start, end)

    def begun(
        self, stats: Mapping[str, Any], partitions: int, created: Mapping[str, str], first: Mapping[str, str]
    ) -> Self:
        return replace(self, stats=stats, partitions=partitions, created=created, first=first)

    def check_same(self, topic: str, partitions: int, created: Mapping[str, str], first: Mapping[str, str]) -> None:
        """Raises `Conflict` if rows that were sent are elsewhere or gone, or if those to send are other ones.

        Raises `DataLoss` if rows are gone from the beginning of a plan: a time is another position then.
        """
        check_partitions(f"replay into {topic}", self.partitions, partitions)
        check_created(f"replay into {topic}", self.created, created)
        for name, place in self.first.items():
            if first.get(name) != place:
                raise DataLoss(
                    f"cannot continue the replay into {topic}: messages from {place} on of {name} are gone",
                    hint="use --again to start over with what is left",
                )


@dataclass(frozen=True, slots=True)
class ReplayFiles:
    """The files of one command line: the same words have the same files."""

    plan: Path
    rows: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], *words: str) -> Self:
        root = environ.get("XDG_STATE_HOME")
        folder = (Path(root) if root else Path.home() / ".local" / "state") / "pulsarctl" / "replay"
        name = sha256(json.dumps(words).encode()).hexdigest()[:16]
        return cls(folder / f"{name}.plan.json", folder / f"{name}.rows.json")

    def load(self) -> tuple[ReplayState, int] | None:
        """The state, and the number of rows that are stored; None if no replay was interrupted."""
        try:
            if not self.plan.exists():
                return None
            rows = json.loads(self.rows.read_text()) if self.rows.exists() else 0
            return ReplayState(**json.loads(self.plan.read_text())), int(rows)
        except (OSError, ValueError, TypeError) as error:
            raise CliError(f"cannot read {self.plan}: {error}", hint="use --again to start over") from error

    def begin(self, state: ReplayState) -> None:
        self.end()
        whole_file.replace(self.plan, json.dumps(asdict(state)), mkdir=True)

    def stored(self, rows: int) -> None:
        whole_file.replace(self.rows, str(rows))

    def end(self) -> None:
        """The plan first: rows without a plan mean nothing."""
        self.plan.unlink(missing_ok=True)
        self.rows.unlink(missing_ok=True)
