"""The parts that the flags of several policies share.

The spellings of flags are pulsar-admin's first, then those of the Go tools.
"""

from typing import Annotated, Any

import typer

from pulsarctl.errors import UsageProblem

Document = dict[str, Any]

Enable = Annotated[bool, typer.Option("-e", "--enable", help="Enable the feature.")]
Disable = Annotated[bool, typer.Option("-d", "--disable", help="Disable the feature.")]


def number(*spellings: str, help: str, metavar: str = "N") -> Any:
    return typer.Option(*spellings, metavar=metavar, help=help)


def switch(enable: bool, disable: bool) -> bool:
    """True or false. Raises `UsageProblem` unless exactly one is given."""
    if enable == disable:
        raise UsageProblem("specify --enable or --disable, and not both")
    return enable
