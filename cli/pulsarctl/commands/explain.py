"""`pulsarctl explain`: why nothing is delivered from a topic, or published to it."""

from typing import Annotated

import typer

from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("explain", "Explain why a topic or a subscription delivers nothing.")


@app.verb("explain", watchable=True)
def explain(
    call: Call,
    topic: Topic,
    subscription: Annotated[
        str | None,
        typer.Option(
            "-s",
            "--subscription",
            metavar="SUBSCRIPTION",
            help="Name of the subscription to explain. Default: the topic and all its subscriptions.",
        ),
    ] = None,
) -> None:
    """Explain why a topic or a subscription delivers nothing.

    The command reads statistics and policies, peeks at the oldest unacknowledged message, and changes nothing. Each
    finding is one sentence, with a command that shows more. A finding is marked as likely if the broker does not
    report the cause itself. Apache Pulsar reports fewer causes than pulsarctl's broker.

    Example: pulsarctl explain orders -s billing
    """
    from pulsarctl.diagnosis import terminal
    from pulsarctl.facts.topic import explain as findings

    explained = findings(call, topic, subscription)
    if render.resolve(call.output) in (Output.TABLE, Output.TEXT):
        for line in terminal.lines(explained):
            render.line_with_state(line)
    else:
        call.show(
            [finding.document() for finding in explained], Table(("CODE",), [(finding.code,) for finding in explained])
        )
