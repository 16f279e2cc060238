"""`pulsarctl storage`: show, check, and repair the files of a data directory, without a broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import AlreadyRunning, CliError, NotFound
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from broker_core.storage.repair.rebuild import Rebuilt

app = Noun("storage", "Inspect and repair the files of a data directory.")

Target = Annotated[Path, typer.Argument(metavar="DIR|FILE", help="Data directory of a broker, or one of its files.")]


@app.verb("dump")
def dump(call: Call, path: Target) -> None:
    """Print the headers, records, and checksums of files.

    Reports damage where it is, and then exits with code 1.

    Example: pulsarctl storage dump data/ledgers
    """
    from broker_core.storage.repair.inspection.dump import dump_lines

    damaged = 0
    for line in dump_lines(_existing(path)):
        render.line(line)
        damaged += line.startswith("DAMAGE ")
    _judge(path, damaged)


@app.verb("check")
def check(call: Call, path: Target) -> None:
    """Verify every checksum and report damage.

    Prints nothing and exits with code 0 if there is no damage, and 1 otherwise. Earlier damage counts until its loss is
    accepted. Invalid stored policies and properties count, too: the broker ignores them until they are set again. A
    notice says if a broker is using the directory.

    Example: pulsarctl storage check data
    """
    from broker_core.metadata.tenancy.documents import find_bad_values
    from broker_core.storage.repair.inspection.check import find_damage, is_in_use
    from broker_core.storage.repair.inspection.metadata import stored_documents

    if is_in_use(path):
        call.notice(f"a broker is using {path}: results may include files that changed during the check")
    reports = [*find_damage(_existing(path)), *find_bad_values(stored_documents(path))]
    for report in reports:
        render.line(str(report))
    _judge(path, len(reports))


@app.verb("accept-loss", loses_data=True)
def accept_loss(
    call: Call,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Data directory that no broker uses.")],
) -> None:
    """Accept the loss of damaged data.

    The broker is no longer degraded, and readers skip what is lost. Prints what is accepted. If a broker uses the
    directory, run 'pulsarctl brokers accept-loss'.

    Example: pulsarctl storage accept-loss data
    """
    from broker_core.storage.damage import accept_loss
    from broker_core.storage.errors import DirectoryLocked
    from broker_core.storage.repair.inspection.check import find_damage

    reports = find_damage(_existing(directory))
    try:
        accept_loss(directory, reports)
    except DirectoryLocked as error:
        raise AlreadyRunning(f"cannot accept the loss: {error}", hint="pulsarctl brokers accept-loss") from error
    for report in reports:
        render.line(str(report))
    if not reports:
        call.notice("no damage to accept")


@app.verb("rebuild")
def rebuild(
    call: Call,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Data directory that no broker uses.")],
    journal_directory: Annotated[
        str, typer.Option(metavar="DIR", help="Directory of the journal, if the broker runs with journalDirectory.")
    ] = "",
) -> None:
    """Rebuild a lost or damaged metadata.sqlite from catalog.log, the ledgers, and the journal.

    Restores a lost or damaged FORMAT file, too. Prints what the new file holds and what is unknown. The old files are
    kept under other names. Without a sound catalog.log, consumers can get messages of aborted and open transactions
    as if these were committed.

    Example: pulsarctl storage rebuild data
    """
    from broker_core.storage.errors import DirectoryLocked, StorageError
    from broker_core.storage.repair.rebuild import rebuild

    try:
        rebuilt = rebuild(_existing(directory), journal_directory)
    except DirectoryLocked as error:
        raise AlreadyRunning(f"cannot rebuild {directory}: {error}", hint="stop the broker first") from error
    except (StorageError, OSError) as error:
        raise CliError(f"cannot rebuild {directory}: {error}") from error
    if rebuilt is None:
        call.notice(f"nothing to rebuild: metadata.sqlite of {directory} is intact")
        return
    for path in rebuilt.restored:
        render.line(f"restored {path}")
    if rebuilt.sources:
        _report(directory, rebuilt)


def _report(directory: Path, rebuilt: "Rebuilt") -> None:
    held = {"document": "documents", "managed_ledger": "topics", "ledger": "ledgers", "cursor": "subscriptions"}
    counts = ", ".join(f"{name} {rebuilt.rows[table]}" for table, name in held.items())
    render.line(f"rebuilt {directory}/metadata.sqlite from {', '.join(rebuilt.sources)}: {counts}")
    for path in rebuilt.kept:
        render.line(f"kept {path}")
    for sentence in rebuilt.unknown:
        render.line(f"unknown: {sentence}")


def _existing(path: Path) -> Path:
    if not path.exists():
        raise NotFound(f"cannot find {path}")
    return path


def _judge(path: Path, damaged: int) -> None:
    if damaged:
        places = "1 place is" if damaged == 1 else f"{damaged} places are"
        raise CliError(f"{path}: {places} damaged")
