"""The options of verbs that read a range of a topic."""

from typing import Annotated

import typer

Start = Annotated[
    str, typer.Option("--start", metavar="POSITION", help="First message: earliest, LEDGER:ENTRY, a TIME, or -10m.")
]
End = Annotated[
    str, typer.Option("--end", metavar="POSITION", help="Last message: latest, LEDGER:ENTRY, a TIME, or -10m.")
]
FullScan = Annotated[
    bool,
    typer.Option(
        "--full-scan", help="Read whole topics. Default: assume publish times are out of order by at most a minute."
    ),
]
AllowLoss = Annotated[
    bool, typer.Option("--allow-loss", help="Continue if messages are gone, and count the gaps. Default: fail.")
]
ShowPlan = Annotated[bool, typer.Option("--dry-run", help="Show the plan, and exit.")]
ShowReading = Annotated[bool, typer.Option("--dry-run", help="Show what would be read, and exit.")]
TierStore = Annotated[
    str,
    typer.Option("--tier-store", metavar="URI", help="Read offloaded ledgers from their store, without the broker."),
]
