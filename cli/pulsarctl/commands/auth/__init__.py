"""`pulsarctl auth`: who the broker takes this client for, and what a role may do."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.errors import NotFound
from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from pulsarctl.commands.auth.known_permissions import Answer

app = Noun("auth", "Show who you are, and what a role may do.")

Role = Annotated[str, typer.Argument(metavar="ROLE", help="Role that would act.")]
Action = Annotated[
    str,
    typer.Argument(
        metavar="ACTION",
        help="What it would do, such as produce, consume, get-stats, terminate, create-topic, policies, administrate.",
    ),
]
Resource = Annotated[
    str,
    typer.Argument(
        metavar="RESOURCE", help="Topic (TENANT/NAMESPACE/TOPIC), namespace, tenant, or '*' for the broker."
    ),
]
Subscription = Annotated[
    str | None, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Subscription that it would use.")
]


@app.verb("whoami")
def whoami(call: Call) -> None:
    """Print the role of this client.

    The bundled broker reports the role. Apache Pulsar does not, so the command shows the role in the credentials,
    after the broker has accepted them.

    Example: pulsarctl auth whoami --token-file my.token
    """
    try:
        identity = call.admin.auth.whoami()
        identity["decidedBy"] = "the broker"
    except NotFound:
        from pulsarctl.commands.auth.known_permissions import who

        identity = who(call.admin, call.settings)
    call.show(
        identity, Table(("WHO", "VALUE"), [(name, value) for name, value in identity.items() if value is not None])
    )


@app.verb("can", "can-i")
def can(call: Call, role: Role, action: Action, resource: Resource, subscription: Subscription = None) -> None:
    """Print whether a role may do something, and the rule that decides it.

    The bundled broker answers with the decision that it would make. For an Apache Pulsar, the command applies Pulsar's
    rules to the permissions that you may read, and says if that is not enough. Exits with 0 for yes and 1 otherwise.

    Example: pulsarctl auth can orders-service produce acme/shop/orders
    """
    try:
        decision = call.admin.auth.can(role, action, resource, subscription)
        decision["decidedBy"] = "the broker"
    except NotFound:
        decision = _known(call, role, action, resource, subscription)
    call.show(decision, Table(("CAN", "VALUE"), _rows(decision)))
    if decision["allowed"] is not True:
        raise typer.Exit(1)


def _known(call: Call, role: str, action: str, resource: str, subscription: str | None) -> dict[str, Any]:
    from pulsarctl.commands.auth.known_permissions import Question, decide

    answer: Answer = decide(call.admin, Question(role, action, resource, subscription))
    return {
        "role": role,
        "operation": answer.operation,
        "resource": answer.resource,
        "allowed": answer.allowed,
        "rule": answer.rule,
        "decidedBy": "the permissions that you may read",
    }


def _rows(decision: dict[str, Any]) -> list[tuple[str, Any]]:
    words = {True: "yes", False: "no", None: "unknown"}
    return [(name, words[value] if name == "allowed" else value) for name, value in decision.items()]
