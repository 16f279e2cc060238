"""The options that every command accepts, before or after its name: addresses, credentials, and output.

A command's own options take precedence. The shared options have no short names that mean something else in a command:
`-q` is the queue size of pulsar-client and never `--quiet`.
"""

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from pulsarctl.output.colors import Color, choose
from pulsarctl.output.render import Output
from pulsarctl.shell.metavars import is_secret, takes_value
from pulsarctl.values.choice import choice

ALWAYS_IN_HELP = ("output", "web_url", "context")  # `pulsarctl --help` describes the others

Text = str | None
Flag = bool | None


def _target(
    output: Annotated[
        Text,
        typer.Option(
            "-o",
            "--output",
            metavar="FORMAT",
            autocompletion=choice(*Output),
            help="Output format: auto, table, text, json, jsonl, yaml, or name.",
        ),
    ] = None,
    web_url: Annotated[
        Text,
        typer.Option(
            "--admin-url",
            "--admin-service-url",
            metavar="URL",
            help="URL of the admin API. Default: http://localhost:8080.",
        ),
    ] = None,
    service_url: Annotated[
        Text,
        typer.Option(
            "--url", "--service-url", metavar="URL", help="URL of the broker. Default: pulsar://localhost:6650."
        ),
    ] = None,
    context: Annotated[Text, typer.Option("--context", metavar="CONTEXT", help="Name of the context to use.")] = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Ignore all contexts.")] = False,
    config_file: Annotated[
        Text, typer.Option("--config-file", metavar="FILE", help="Client configuration file (client.conf or YAML).")
    ] = None,
) -> None:
    """The options for the broker to use, and for the format of its answers."""


def _credentials(
    token: Annotated[
        Text,
        typer.Option(
            "--token",
            metavar="TOKEN",
            help="Authentication token. Prefer --token-file: other users can see command lines.",
        ),
    ] = None,
    token_file: Annotated[
        Text, typer.Option("--token-file", metavar="FILE", help="File that contains the authentication token.")
    ] = None,
    auth_plugin: Annotated[
        Text, typer.Option("--auth-plugin", metavar="CLASS", help="Authentication plugin, as in client.conf.")
    ] = None,
    auth_params: Annotated[
        Text,
        typer.Option(
            "--auth-params",
            metavar="PARAMS",
            help="Parameters of the authentication plugin: key:value pairs or JSON, as in client.conf.",
        ),
    ] = None,
    user: Annotated[
        Text, typer.Option("--user", metavar="NAME", help="User name of basic authentication; needs --password-file.")
    ] = None,
    password_file: Annotated[
        Text, typer.Option("--password-file", metavar="FILE", help="File that contains the password of --user.")
    ] = None,
    issuer_endpoint: Annotated[
        Text,
        typer.Option("--issuer-endpoint", metavar="URL", help="URL of the OAuth 2.0 issuer; needs --key-file."),
    ] = None,
    key_file: Annotated[
        Text,
        typer.Option("--key-file", metavar="FILE", help="OAuth 2.0 key file: JSON with client_id and client_secret."),
    ] = None,
    client_id: Annotated[
        Text, typer.Option("--client-id", metavar="ID", help="OAuth 2.0 client ID. Default: that of the key file.")
    ] = None,
    audience: Annotated[
        Text, typer.Option("--audience", metavar="NAME", help="OAuth 2.0 audience: what the access token is for.")
    ] = None,
    scope: Annotated[
        Text, typer.Option("--scope", metavar="NAMES", help="OAuth 2.0 scope of the access token.")
    ] = None,
) -> None:
    """The options for the credentials of the client."""


def _tls(
    tls_trust_cert_path: Annotated[
        Text,
        typer.Option(
            "--tls-trust-cert-path", "--tls-trust-cert", metavar="FILE", help="File of trusted certificates (PEM)."
        ),
    ] = None,
    tls_cert_file: Annotated[
        Text,
        typer.Option("--tls-cert-file", "--tls-cert", metavar="FILE", help="File of the client certificate (PEM)."),
    ] = None,
    tls_key_file: Annotated[
        Text,
        typer.Option("--tls-key-file", "--tls-key", metavar="FILE", help="File of the client's private key (PEM)."),
    ] = None,
    tls_allow_insecure: Annotated[
        Flag, typer.Option("--tls-allow-insecure", help="Accept any server certificate.")
    ] = None,
    tls_verify_hostname: Annotated[
        Flag,
        typer.Option(
            "--tls-enable-hostname-verification/--tls-no-hostname-verification",
            " /--no-tls-hostname-verification",
            help="Verify the host name in the server certificate.",
        ),
    ] = None,
    tls_provider: Annotated[Text, typer.Option("--tls-provider", hidden=True, help="Accepted and ignored.")] = None,
) -> None:
    """Certificates."""


def _run(
    request_timeout_seconds: Annotated[
        Text,
        typer.Option(
            "--request-timeout", metavar="DURATION", help="Maximum time to wait for a response. Default: 300s."
        ),
    ] = None,
    embedded: Annotated[
        Text,
        typer.Option("--embedded", metavar="DIR", help="Run the command with its own broker on this data directory."),
    ] = None,
    lock_timeout_seconds: Annotated[
        Text,
        typer.Option(
            "--lock-timeout",
            metavar="DURATION",
            help="Maximum time to wait for the data directory of --embedded. Default: 30s.",
        ),
    ] = None,
) -> None:
    """The options for deadlines, and for the broker of a single command."""


def _messages(
    log_level: Annotated[
        Text,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            autocompletion=choice("debug", "info", "warn", "error"),
            help="Minimum level of log messages: debug, info, warn, or error. The official client stops at info.",
        ),
    ] = None,
    color: Annotated[
        Color | None,
        typer.Option(
            "--color", metavar="WHEN", help="Use colors: auto (on a terminal without NO_COLOR), always, or never."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Suppress notices on stderr.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print each request to the admin API and the source of each address on stderr.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests that would change something, and send none of them.")
    ] = False,
) -> None:
    """The options for messages on the terminal besides the answer."""


# Only their parameters matter, in this order.
_DECLARED = (_target, _credentials, _tls, _run, _messages)
_OF_NO_CLUSTER = (
    *("output", "request_timeout_seconds", "lock_timeout_seconds"),
    *("log_level", "color", "quiet", "verbose", "dry_run"),
)


def shared(taken: TyperCommand | None = None) -> list[TyperOption]:
    """The options; for the command `taken`, without its own names and spellings, and with most options hidden."""
    options = _made()
    if taken is None:
        return [copy.copy(option) for option in options]
    names = {parameter.name for parameter in taken.params}
    spellings = {spelling for parameter in taken.params for spelling in (*parameter.opts, *parameter.secondary_opts)}
    return [left for option in options if option.name not in names and (left := _without(option, spellings))]


@cache
def _made() -> list[TyperOption]:
    """Made once for the program and its command, which change copies: Typer takes a millisecond or two."""
    return [option for group in _DECLARED for option in _options_of(group)]


def _options_of(group: Callable[..., None]) -> list[TyperOption]:
    app = typer.Typer(add_completion=False)
    app.command()(group)
    return [option for option in typer.main.get_command(app).params if isinstance(option, TyperOption)]


def watch() -> TyperOption:
    """`--watch`, of the verbs that can be repeated."""
    return _options_of(_watch)[0]


def _watch(
    watch: Annotated[
        Text,
        typer.Option(
            "--watch",
            metavar="[SECONDS]",
            help="Repeat the command until Ctrl-C. Time between two rounds; default: 2 seconds.",
        ),
    ] = None,
) -> None:
    """Declares one option."""


def given(parameters: dict[str, Any], options: list[TyperOption]) -> dict[str, Any]:
    """Removes the shared options from a command's parsed parameters and returns those that were given.

    `--color` takes effect here, so that it applies to every later error, including those of the settings.
    """
    if color := parameters.pop("color", None):
        choose(color)
    values = {str(option.name): parameters.pop(str(option.name), None) for option in options}
    return {
        name: value
        for name, value in values.items()
        if value not in (None, False) or (name == "tls_verify_hostname" and value is False)
    }


def repeated(flags: Mapping[str, Any]) -> list[str]:
    """The words that choose the same cluster again, from the options that were given. A secret is only named."""
    options = [option for option in _made() if option.name in flags and option.name not in _OF_NO_CLUSTER]
    return [word for option in options for word in _words(option, flags[str(option.name)])]


def _words(option: TyperOption, value: Any) -> list[str]:
    from pulsarctl.output.redaction import forms_masked  # its patterns take a while to compile

    if takes_value(option):
        return [option.opts[0], str(option.metavar) if is_secret(option) else forms_masked(str(value))]
    return option.opts[:1] if value else option.secondary_opts[:1]


def _without(option: TyperOption, spellings: set[str]) -> TyperOption | None:
    left = [spelling for spelling in option.opts if spelling not in spellings]
    if not left:
        return None
    changed = copy.copy(option)
    changed.opts = left
    changed.hidden = option.hidden or option.name not in ALWAYS_IN_HELP
    return changed
