"""How far an import has come, in a small file of this user: everything up to a row is stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Self

from pulsarctl.errors import CliError
from pulsarctl.output import whole_file
from pulsarctl.transfer.created_topics import check_created, check_partitions


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """`files` are complete and have `messages`; of the next file, `row` rows are stored.

    `done`: there was no other file. `attempt` counts imports of the same data into the same topic. `partitions` are
    those of the topic when the first row was sent, and `created` says when each of them was created, by its name. It
    is empty if the admin API did not tell. `topic` and `source` say of which import it is; earlier versions did not.
    """

    files: int = 0
    messages: int = 0
    row: int = 0
    done: bool = False
    attempt: int = 0
    partitions: int = 0
    created: Mapping[str, str] = field(default_factory=dict)
    topic: str = ""
    source: str = ""

    @property
    def stored(self) -> int:
        return self.messages + self.row

    def begun(self, topic: str, partitions: int, created: Mapping[str, str]) -> Self:
        """With rows that may be stored beyond it. Raises `Conflict` if earlier rows are elsewhere or gone."""
        doing = f"import into {topic}"
        check_partitions(doing, 0 if self.done else self.partitions, partitions)
        check_created(doing, self.created, created)
        return replace(self, done=False, partitions=partitions, created={**self.created, **created})

    def in_file(self, row: int) -> Self:
        return replace(self, row=row)

    def after(self, files: int, messages: int) -> Self:
        return replace(self, files=files, messages=messages, row=0)

    def ended(self) -> Self:
        return replace(self, done=True)


def file_for(environ: Mapping[str, str], cluster: str, topic: str, source_id: str) -> Path:
    root = environ.get("XDG_STATE_HOME")
    directory = (Path(root) if root else Path.home() / ".local" / "state") / "pulsarctl" / "import"
    return directory / f"{sha256(f'{cluster} {topic} {source_id}'.encode()).hexdigest()[:16]}.json"


def file_of_same(file: Path, topic: str, source_id: str, created: Callable[[], Mapping[str, str]]) -> Path:
    """The file of an import that reached the same cluster by another URL; else `file`, which does not exist.

    The cluster is the same if a partition was created at the same time: names of clusters need not differ.
    """
    others = {
        other: times for other in sorted(file.parent.glob("*.json")) if (times := _times(other, topic, source_id))
    }
    now = created().items() if others else ()  # requests for each partition
    return next((other for other, times in others.items() if times.items() & now), file)


def _times(file: Path, topic: str, source_id: str) -> Mapping[str, str]:
    """The creation times of the partitions. Empty if the progress is not of this topic and source."""
    try:
        progress = load(file)
    except CliError:  # of another import, which says so itself
        return {}
    return progress.created if (progress.topic, progress.source) == (topic, source_id) else {}


def load(file: Path) -> ImportProgress:
    try:
        return ImportProgress(**json.loads(file.read_text()))
    except FileNotFoundError:
        return ImportProgress()
    except (OSError, ValueError, TypeError) as error:
        raise CliError(f"cannot read {file}: {error}", hint="use --again to start over") from error


def restarted(file: Path, now: int) -> ImportProgress:
    """For another attempt. `now` is a number that no attempt before can have had, if the file is unreadable."""
    try:
        return ImportProgress(attempt=load(file).attempt + 1)
    except CliError:
        return ImportProgress(attempt=now)


def save(file: Path, progress: ImportProgress) -> None:
    whole_file.replace(file, json.dumps(asdict(progress)), mkdir=True)
