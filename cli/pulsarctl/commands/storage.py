"""`pulsarctl storage`: our own files as readable lines, and whether they can be trusted. Needs no broker."""

from pathlib import Path
from typing import Annotated

import typer

from pulsarctl import render
from pulsarctl.call import Call
from pulsarctl.errors import CliError
from pulsarctl.grammar import Noun

app = Noun("storage", "Look into the files of a data directory.")

Target = Annotated[
    Path, typer.Argument(metavar="DIR|FILE", help="A data directory of standalone, or one of its files.")
]


@app.verb("dump")
def dump(call: Call, path: Target) -> None:
    """Print headers, records and checksums, damage where it is.

    Example: pulsarctl storage dump data/ledgers/12.ledger
    """
    from broker_core.storage.dump import dump_lines

    for line in dump_lines(path):
        render.line(line)


@app.verb("check")
def check(call: Call, path: Target) -> None:
    """Read everything and verify every checksum; prints what is damaged and exits with 1, or nothing and 0.

    Example: pulsarctl storage check data
    """
    from broker_core.storage.dump import find_damage

    reports = [str(report) for report in find_damage(path)]
    for report in reports:
        render.line(report)
    if reports:
        raise CliError(f"{len(reports)} places in {path} are damaged", hint=f"pulsarctl storage dump {path}")
