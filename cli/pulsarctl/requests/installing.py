"""Makes a verb of each row of a table of requests."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from pulsarctl.requests.on_topics import on_topics, takes_topics
from pulsarctl.requests.request import Request
from pulsarctl.requests.sending import send, show_value
from pulsarctl.requests.signature import EITHER, parameters, with_signature
from pulsarctl.shell.arguments import Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun


def install_requests(noun: Noun, rows: Iterable[Request]) -> None:
    """Adds the verb of each row."""
    for row in rows:
        register = noun.verb(
            row.name,
            *row.also,
            heading=None if row.hidden else row.heading,
            hidden=row.hidden,
            loses_data=bool(row.question),
            help=f"{row.summary}\n\nExample: pulsarctl {noun.noun} {row.name} {row.example}".rstrip(),
        )
        register(_verb(row))


def _verb(row: Request) -> Callable[..., None]:
    return on_topics(row) if takes_topics(row) else _on_one_thing(row)


def _on_one_thing(row: Request) -> Callable[..., None]:
    def run(call: Call, **values: Any) -> None:
        if row.check is not None:
            row.check(values)
        if row.question:
            call.confirm(row.question.format(**values), yes=values["yes"])
        show_value(call, row, send(call.admin, row, values))

    yes = [inspect.Parameter("yes", EITHER, annotation=Yes, default=False)] if row.question else []
    return with_signature(run, [*parameters(row.fields), *yes])
