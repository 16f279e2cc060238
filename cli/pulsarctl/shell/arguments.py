"""Arguments and options that several nouns share."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]
Namespace = Annotated[str, typer.Argument(metavar="NAMESPACE", help="Name of the namespace, as TENANT/NAMESPACE.")]
Topic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC", help="Name of the topic, as TOPIC, TENANT/NAMESPACE/TOPIC, or a persistent:// URL."
    ),
]
AnyTopic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC",
        help="Name of the topic, as TOPIC, TENANT/NAMESPACE/TOPIC, or a persistent:// or topic:// URL.",
    ),
]
Subscription = Annotated[
    str, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Name of the subscription.")
]
Force = Annotated[bool, typer.Option("-f", "--force", help="Delete even if in use.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", "--no-confirm", help="Skip the confirmation.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("-p", "--property", metavar="KEY=VALUE", help="Property to set; may be repeated."),
]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second; 0 means no limit.")]
BrokerTimeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait for the broker.")
]
PARALLEL_DEFAULT = 8
Parallel = Annotated[
    int, typer.Option("--parallel", metavar="N", min=1, max=256, help="Number of requests at a time. Default: 8.")
]
StateFiles = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--file",
        metavar="FILE",
        help="File, directory of files, or - for stdin; may be repeated. Later files are merged over earlier ones.",
    ),
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete what the files do not contain, within the scope that they name.")
]

TIME = "Time: -10m (ten minutes ago; 10m is the same), ISO-8601 (in UTC without an offset), or milliseconds."


def csv(values: list[str] | None) -> list[str]:
    """The items of a list option, which may be repeated, comma-separated, or both."""
    return [part.strip() for value in values or [] for part in value.split(",") if part.strip()]


def pairs(values: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` options as a dictionary; a value may contain `=`. Raises `UsageProblem`."""
    properties = {}
    for value in values or []:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise UsageProblem(f"'{value}' is not KEY=VALUE")
        properties[key] = text
    return properties
