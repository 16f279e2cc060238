"""The options that every command accepts, before or after its name: where the broker is, who asks, how to
print.

A command's own options win, but none of these has a short name that means something else in a command of ours: `-q` is
pulsar-client's queue size and never `--quiet`.
"""

import copy
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from pulsarctl.output.colors import Color, choose

ALWAYS_IN_HELP = ("output", "web_url", "context")  # the others are described by `pulsarctl --help`

Text = str | None
Flag = bool | None


def _declared(
    output: Annotated[
        Text,
        typer.Option("-o", "--output", metavar="FORMAT", help="auto, table, text, json, jsonl, yaml or name."),
    ] = None,
    web_url: Annotated[
        Text,
        typer.Option("--admin-url", "--admin-service-url", metavar="URL", help="Admin API, http://localhost:8080."),
    ] = None,
    service_url: Annotated[
        Text, typer.Option("--url", "--service-url", metavar="URL", help="Broker, pulsar://localhost:6650.")
    ] = None,
    context: Annotated[Text, typer.Option("--context", metavar="NAME", help="Use this context.")] = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Use no context.")] = False,
    config_file: Annotated[Text, typer.Option("--config-file", metavar="FILE", help="Read this client.conf.")] = None,
    token: Annotated[
        Text, typer.Option("--token", metavar="TOKEN", help="Token to present; other users of the machine can see it.")
    ] = None,
    token_file: Annotated[Text, typer.Option("--token-file", metavar="FILE", help="File with the token.")] = None,
    auth_plugin: Annotated[Text, typer.Option("--auth-plugin", metavar="CLASS", help="As in client.conf.")] = None,
    auth_params: Annotated[Text, typer.Option("--auth-params", metavar="TEXT", help="As in client.conf.")] = None,
    tls_trust_cert_path: Annotated[
        Text, typer.Option("--tls-trust-cert-path", metavar="FILE", help="Certificates to trust (PEM).")
    ] = None,
    tls_cert_file: Annotated[Text, typer.Option("--tls-cert-file", metavar="FILE", help="Own certificate.")] = None,
    tls_key_file: Annotated[Text, typer.Option("--tls-key-file", metavar="FILE", help="Own private key.")] = None,
    tls_allow_insecure: Annotated[Flag, typer.Option("--tls-allow-insecure", help="Accept any certificate.")] = None,
    tls_verify_hostname: Annotated[
        Flag,
        typer.Option("--tls-enable-hostname-verification/--no-tls-hostname-verification", help="Check the host name."),
    ] = None,
    tls_provider: Annotated[Text, typer.Option("--tls-provider", hidden=True, help="Accepted and ignored.")] = None,
    request_timeout_seconds: Annotated[
        Text, typer.Option("--request-timeout", metavar="DURATION", help="Give up on a request, 300s.")
    ] = None,
    embedded: Annotated[
        Text,
        typer.Option("--embedded", metavar="DIR", help="Run against a broker of its own on this data directory."),
    ] = None,
    lock_timeout_seconds: Annotated[
        Text, typer.Option("--lock-timeout", metavar="DURATION", help="Wait for DIR to be free, 30s.")
    ] = None,
    log_level: Annotated[Text, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warn or error.")] = None,
    color: Annotated[
        Color | None,
        typer.Option(
            "--color", metavar="WHEN", help="Use colors: auto (on a terminal without NO_COLOR), always, or never."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no notices on stderr.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say where each address comes from.")] = False,
) -> None:
    """Only its parameters matter."""


def shared(taken: TyperCommand | None = None) -> list[TyperOption]:
    """The options, without the spellings and names that command `taken` uses itself; most of them hidden then."""
    app = typer.Typer(add_completion=False)
    app.command()(_declared)
    options = [option for option in typer.main.get_command(app).params if isinstance(option, TyperOption)]
    if taken is None:
        return options
    names = {parameter.name for parameter in taken.params}
    spellings = {spelling for parameter in taken.params for spelling in (*parameter.opts, *parameter.secondary_opts)}
    return [left for option in options if option.name not in names and (left := _without(option, spellings))]


def given(parameters: dict[str, Any], options: list[TyperOption]) -> dict[str, Any]:
    """Takes the shared options out of a command's parsed parameters; returns those that were given.

    `--color` takes effect here: it must hold for whatever goes wrong from now on, the settings' own errors included.
    """
    if color := parameters.pop("color", None):
        choose(color)
    values = {str(option.name): parameters.pop(str(option.name), None) for option in options}
    return {
        name: value
        for name, value in values.items()
        if value not in (None, False) or (name == "tls_verify_hostname" and value is False)
    }


def _without(option: TyperOption, spellings: set[str]) -> TyperOption | None:
    left = [spelling for spelling in option.opts if spelling not in spellings]
    if not left:
        return None
    changed = copy.copy(option)
    changed.opts = left
    changed.hidden = option.hidden or option.name not in ALWAYS_IN_HELP
    return changed
