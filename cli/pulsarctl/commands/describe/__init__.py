"""`pulsarctl describe`: one page about a tenant, a namespace, a topic, a subscription, or the broker."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.arguments import Namespace, Tenant, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from pulsarctl.diagnosis.page import Page

All = Annotated[bool, typer.Option("--all", help="Show policies that the broker's defaults set, too.")]

app = Noun("describe", "Describe a tenant, namespace, topic, subscription, or broker on one page.")


@app.verb("tenant", watchable=True)
def tenant(call: Call, tenant: Tenant) -> None:
    """Describe a tenant: its administrators, clusters, and namespaces.

    Example: pulsarctl describe tenant public
    """
    from pulsarctl.commands.describe import describing

    _show(call, describing.tenant(call, tenant))


@app.verb("namespace", watchable=True)
def namespace(call: Call, namespace: Namespace, show_all: All = False) -> None:
    """Describe a namespace: its health, rates, backlog, topics, and policies.

    Example: pulsarctl describe namespace public/default
    """
    from pulsarctl.commands.describe import describing

    _show(call, describing.namespace(call, namespace), show_all=show_all)


@app.verb("topic", watchable=True)
def topic(call: Call, topic: Topic, show_all: All = False) -> None:
    """Describe a topic: its health, rates, subscriptions, producers, and policies with where they are set.

    Example: pulsarctl describe topic orders
    """
    from pulsarctl.commands.describe import describing

    _show(call, describing.topic(call, topic), show_all=show_all)


@app.verb("subscription", watchable=True)
def subscription(
    call: Call,
    topic: Topic,
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Name of the subscription.")],
) -> None:
    """Describe a subscription: its health, rates, backlog, and consumers.

    Example: pulsarctl describe subscription orders billing
    """
    from pulsarctl.commands.describe import describing

    _show(call, describing.subscription(call, topic, subscription))


@app.verb("broker", watchable=True)
def broker(call: Call) -> None:
    """Describe the broker: its version, health, and main settings.

    Example: pulsarctl describe broker
    """
    from pulsarctl.commands.describe import describing

    _show(call, describing.broker(call))


def _show(call: Call, page: "Page", *, show_all: bool = True) -> None:
    from pulsarctl.diagnosis.describing import without_defaults
    from pulsarctl.diagnosis.page import HEALTH, lines

    if render.resolve(call.output) in (Output.TABLE, Output.TEXT):
        for line in lines(page if show_all else without_defaults(page)):
            render.line_with_state(line, HEALTH)
    else:
        call.show(page.document(), Table(("NAME",), [(page.name,)]))
