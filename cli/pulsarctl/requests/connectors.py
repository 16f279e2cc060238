"""The verbs of connectors. Sources and sinks differ only in their configuration."""

from pulsarctl.requests.functions import (
    Option,
    check_identity,
    config_fields,
    form_of,
    identity,
    lifecycle,
)
from pulsarctl.requests.request import Request, Shown, Values


def connector(kind: str, options: tuple[Option, ...], example: str) -> tuple[Request, ...]:
    """`kind`: source or sink. `example`: the options in the example of create and update."""
    root, type_option = f"//admin/v3/{kind}s", f"{kind}_type"
    package = (("-a", "--archive"), ("-t", f"--{kind}-type"))
    fields = (*identity(kind), *config_fields(options, f"--{kind}-config-file", package))

    def use_builtin(values: Values) -> None:
        check_identity(values)
        builtin = values[type_option]
        if builtin and not values["archive"]:
            values["archive"] = f"builtin://{builtin}"

    def deploy(verb: str, method: str, summary: str) -> Request:
        payload = form_of(options, f"{kind}Config", ("archive",), verb == "update")
        path = f"{root}/{{tenant}}/{{ns}}/{{name}}"
        return Request(verb, method, path, summary, example, fields, check=use_builtin, payload=payload)

    return (
        *lifecycle(kind, f"{kind}s"),
        deploy("create", "POST", f"Deploy a {kind}."),
        deploy("update", "PUT", f"Change a {kind}."),
        Request(
            f"available-{kind}s", "GET", f"{root}/builtin{kind}s", f"List the builtin {kind}s.", "", (), Shown.VALUE
        ),
        Request("reload", "POST", f"{root}/reloadBuiltIn{kind.title()}s", f"Load the builtin {kind}s again.", ""),
    )
