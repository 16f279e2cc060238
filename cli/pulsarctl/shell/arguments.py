"""Arguments and options that several nouns share, so that they are spelled alike everywhere."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]
Namespace = Annotated[str, typer.Argument(metavar="NAMESPACE", help="TENANT/NAMESPACE.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="TOPIC, TENANT/NAMESPACE/TOPIC or with persistent://.")]
Subscription = Annotated[
    str, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Name of the subscription.")
]
Force = Annotated[bool, typer.Option("-f", "--force", help="Even if it is in use.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", "--no-confirm", help="Do not ask.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("-p", "--property", metavar="KEY=VALUE", help="A property; may be repeated."),
]

TIME = "ISO-8601 (UTC without an offset), @MILLISECONDS, or 10m for 10 minutes ago."


def csv(values: list[str] | None) -> list[str]:
    """A list option: repeated, comma-separated, or both."""
    return [part.strip() for value in values or [] for part in value.split(",") if part.strip()]


def pairs(values: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` options; the value may hold `=`. Raises `UsageProblem`."""
    found = {}
    for value in values or []:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise UsageProblem(f"'{value}' is not KEY=VALUE")
        found[key] = text
    return found
